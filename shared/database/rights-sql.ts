import type { Grant, Right } from './database.ts'

export const ALL_RIGHTS: readonly Right[] = ['select', 'insert', 'update', 'delete']

/** A statement for each table of which a login has a right. */
export const grantStatements = (user: string, grants: readonly Grant[]): string =>
  grants
    .filter(({ rights }) => rights.length > 0)
    .map(({ table, rights }) => `grant ${rights} on ${table} to ${user};`)
    .join('\n')

/** A statement for each table of which a login lacks a right, which also revokes that of single columns. */
export const revokeStatements = (user: string, grants: readonly Grant[], revoke = 'revoke'): string =>
  grants
    .map(({ table, rights }) => ({ table, missing: ALL_RIGHTS.filter((right) => !rights.includes(right)) }))
    .filter(({ missing }) => missing.length > 0)
    .map(({ table, missing }) => `${revoke} ${missing} on ${table} from ${user};`)
    .join('\n')
