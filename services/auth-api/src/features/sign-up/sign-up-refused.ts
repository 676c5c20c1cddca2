import { AppError } from '@latchkey/shared/app-error.ts'

/** One error for every reason: the reason would only help an attacker. */
export const signUpRefused = () => new AppError('signup_refused', 'Invalid or expired code; sign up again')

/** Says nothing about an e-mail but its domain. */
export const domainRefused = () =>
  new AppError('signup_refused', 'Sign-up is not open to e-mail addresses of this domain')
