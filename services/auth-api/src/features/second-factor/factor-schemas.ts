import { displayName } from '@latchkey/shared/users/account-names.ts'
import { z } from 'zod'
import type { IssuedToken } from '../../tokens/issue-token.ts'
import { TokenResponse } from '../../tokens/token-response.ts'

/** The name of a factor as a client sends it. */
export const factorName = () => displayName().min(1, 'must not be empty')

/** The problems of a route that begins to add a factor. */
export const ENROLMENT_PROBLEMS = [
  'insufficient_user_authentication',
  'too_many_factors',
  'wrong_password',
  'overloaded',
] as const

/** The response to a new second factor. */
export const EnrolledFactor = TokenResponse.extend({
  recovery_codes: z
    .array(z.string())
    .describe('Shown this once, and each valid once; empty where the user has some already.'),
}).meta({
  id: 'EnrolledFactor',
  description: 'Recovery codes, and a token of a login with the new factor.',
})

/** Returns a new second factor as the API shows it. */
export const toEnrolledFactor = ({
  recoveryCodes,
  ...issued
}: IssuedToken & { recoveryCodes: string[] }): z.output<typeof EnrolledFactor> => ({
  ...issued,
  recovery_codes: recoveryCodes,
})
