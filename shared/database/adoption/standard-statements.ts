import type { FixStatements } from './schema.ts'

export const alter = (table: string, change: string): string => `alter table ${table} ${change};`

/** The fixes that every SQL database spells alike. */
export const standardStatements: Pick<FixStatements, 'addPrimaryKey' | 'addForeignKey'> = {
  addPrimaryKey: (table, column) => alter(table, `add primary key (${column})`),
  addForeignKey: () =>
    alter('users_property', 'add constraint fk_user_property foreign key (userid) references users (userid)'),
}
