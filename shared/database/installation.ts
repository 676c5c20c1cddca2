import type { Queryable } from './database.ts'

/** Reads the name of this installation, which a migration has written. Rejects while the database is unavailable. */
export type ReadInstallation = () => Promise<string>

const READ = { name: 'installation-read', text: 'select id from latchkey_installation' }

/** Creates the function that reads it once. On a server that several installations share, each keeps to its own name. */
export function createReadInstallation(db: Pick<Queryable, 'query'>): ReadInstallation {
  let reading: Promise<string> | undefined

  async function read(): Promise<string> {
    const rows = await db.query<{ id: string }>(READ)
    if (rows[0] && rows.length === 1) return rows[0].id
    throw new Error(`The table latchkey_installation has ${rows.length} rows; leave it with one`)
  }

  return () => {
    reading ??= read().catch((error: unknown) => {
      reading = undefined
      throw error
    })
    return reading
  }
}
