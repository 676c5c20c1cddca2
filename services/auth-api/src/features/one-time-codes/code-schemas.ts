import { z } from 'zod'

/** The schema of the token that a request for a code was answered with. It is not an access token. */
export const requestTokenSchema = () =>
  z.string('must be a string').min(1, 'must not be empty').max(256, 'is too long')

/** The schema of a code that was mailed. */
export const sixDigitCodeSchema = () =>
  z
    .string('must be a string of six digits')
    .regex(/^[0-9]{6}$/, 'must be six digits')
    .describe('The code of the mail.')
