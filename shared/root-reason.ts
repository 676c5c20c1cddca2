/** The message of the innermost cause. Errors of several attempts have a code and no message. */
export function rootReason(error: unknown): string {
  if (!(error instanceof Error)) return ''
  if (error.cause instanceof Error) return rootReason(error.cause)
  return error.message || ('code' in error ? String(error.code) : '')
}
