import { AppError } from '@latchkey/shared/app-error.ts'

/** One error for every reason: the reason would only help an attacker. */
export const changeRefused = () =>
  new AppError('email_change_refused', 'Invalid or expired code; change the e-mail again')
