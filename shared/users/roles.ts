export const ADMIN_ROLE = 'admin'

/**
 * The roles that a route may require, so that a misspelt one is refused at the start, and by `Users::setRole`. `user` is
 * the role of a user without one. Add yours here.
 */
export const ROLES: readonly string[] = [ADMIN_ROLE, 'user']

/** `admin or editor` */
export const formatRoles = (roles: readonly string[]): string =>
  new Intl.ListFormat('en', { type: 'disjunction' }).format(roles)

/** The roles that routes of Latchkey and of its extensions may require. */
export const declaredRoles = (extensions: readonly { roles: readonly string[] }[]): string[] => [
  ...ROLES,
  ...extensions.flatMap(({ roles }) => roles),
]
