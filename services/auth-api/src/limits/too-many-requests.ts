import { AppError } from '@latchkey/shared/app-error.ts'

export const tooManyRequests = (retryAfterSeconds: number) =>
  new AppError('rate_limited', 'Too many requests; try again later', { retryAfterSeconds })
