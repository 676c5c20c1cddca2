import { z } from 'zod'

/** The schema of a code that was mailed. */
export const sixDigitCode = () =>
  z
    .string('must be a string of six digits')
    .regex(/^[0-9]{6}$/, 'must be six digits')
    .describe('The code of the mail.')
