import { ROLES } from '../users/roles.ts'
import type { LoadedExtension } from './load-extensions.ts'

/** The roles that routes of Latchkey and of its extensions may require. */
export const declaredRoles = (extensions: readonly Pick<LoadedExtension, 'roles'>[]): string[] => [
  ...ROLES,
  ...extensions.flatMap(({ roles }) => roles),
]
