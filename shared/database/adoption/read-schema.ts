import type { Queryable } from '../database.ts'
import type { Adoption, Column, ForeignKey, Index, Schema, Server, Table } from './schema.ts'

/** Reads what the catalog says about the tables; reads no row of theirs. */
export async function readSchema(db: Queryable, { catalog }: Adoption): Promise<Schema> {
  const read = <Row extends object>(part: keyof Schema) =>
    db.query<Row>({ name: `catalog-${part}`, text: catalog[part] })
  const [server] = await read<Server>('server')
  if (!server) throw new Error('The database did not describe itself')
  return {
    server,
    tables: await read<Table>('tables'),
    columns: await read<Column>('columns'),
    indexes: await read<Index>('indexes'),
    foreignKeys: await read<ForeignKey>('foreignKeys'),
  }
}
