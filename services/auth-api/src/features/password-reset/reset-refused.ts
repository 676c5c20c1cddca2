import { AppError } from '@latchkey/shared/app-error.ts'

/** One answer for every reason: which one it was would help only somebody who guesses. */
export const resetRefused = () =>
  new AppError('reset_refused', 'There is no open password reset that this fits; ask for a new one')
