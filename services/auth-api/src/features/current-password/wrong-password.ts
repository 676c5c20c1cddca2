import { AppError } from '@latchkey/shared/app-error.ts'

export const wrongPassword = (message: string) => new AppError('wrong_password', message)
