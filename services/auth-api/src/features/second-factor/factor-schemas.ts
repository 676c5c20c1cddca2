import { displayName } from '@latchkey/shared/users/account-names.ts'

/** The name of a factor as a client sends it. */
export const factorName = () => displayName().min(1, 'must not be empty')

/** The problems of a route that begins to add a factor. */
export const ENROLMENT_PROBLEMS = [
  'insufficient_user_authentication',
  'too_many_factors',
  'wrong_password',
  'overloaded',
] as const
