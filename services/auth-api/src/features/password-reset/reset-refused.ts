import { AppError } from '@latchkey/shared/app-error.ts'

/** One error for every reason: the reason would only help an attacker. */
export const resetRefused = () =>
  new AppError('reset_refused', 'Invalid or expired code or token; request a new one')
