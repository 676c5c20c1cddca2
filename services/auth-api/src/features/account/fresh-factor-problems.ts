import type { ErrorCode } from '@latchkey/shared/errors/app-error.ts'
import type { Core } from '../../core.ts'

/** Returns the problems of a route that requires a fresh second factor of the users who have one. */
export const freshFactorProblems = ({ challenges }: Pick<Core, 'challenges'>): readonly ErrorCode[] =>
  challenges ? ['insufficient_user_authentication'] : []
