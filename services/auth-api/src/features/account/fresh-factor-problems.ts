import type { ErrorCode } from '@latchkey/shared/errors/app-error.ts'
import type { Core } from '../../core.ts'

/** Returns the problems of a route that requires a fresh second factor of the users who have one. */
export const freshFactorProblems = ({ secondFactor }: Pick<Core, 'secondFactor'>): readonly ErrorCode[] =>
  secondFactor ? ['insufficient_user_authentication'] : []
