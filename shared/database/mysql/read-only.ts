/** Errors of a server that has become a replica: the same name now leads to another server. */
export const READ_ONLY = [
  'ER_OPTION_PREVENTS_STATEMENT',
  'ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION',
  'ER_READ_ONLY_MODE',
] as const
