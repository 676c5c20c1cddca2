/** The expression of the unique indexes: `fold` of shared/users/user.ts in SQL. */
export const folded = (expression: string): string => `replace(lower(${expression}), 'ς', 'σ')`
