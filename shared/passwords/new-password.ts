import { z } from 'zod'

/** The schema of a new password. Its policy is checked later: it has a problem type of its own. */
export const newPassword = () =>
  z
    .string('must be a string')
    .refine((text) => text.isWellFormed(), 'must be whole characters')
    .meta({ format: 'password', description: 'The new password.' })
