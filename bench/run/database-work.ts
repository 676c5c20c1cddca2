import { readdir, readFile } from 'node:fs/promises'
import type { Database } from '@latchkey/shared/database/database.ts'

/** What a database has done so far, for all its clients. */
export interface DatabaseWork {
  /** Rows that it read without an index; in PostgreSQL rows of users, in MySQL and MariaDB of any table. */
  scanned: number
  /** Rows that it found by an index, likewise. */
  found: number
  /** Processor time in microseconds; NaN where its process is not known. */
  cpuMicros: number
}

const TICK_MICROS = 10_000
const OF_TABLES = {
  name: 'bench-rows-read',
  text: `select sum(seq_tup_read) as scanned, sum(idx_tup_fetch) as found, pg_backend_pid() as pid
    from pg_stat_user_tables where relname in ('users', 'users_property')`,
}
const OF_HANDLER = {
  name: 'bench-rows-read',
  text: "show global status where variable_name in ('Handler_read_rnd_next', 'Handler_read_key')",
}

/**
 * PostgreSQL counts the rows of a connection once it is closed: nothing else may be connected. `serverPid` is the process
 * of the server; that of an embedded PostgreSQL is found.
 */
export async function readWork(db: Database, serverPid?: number): Promise<DatabaseWork> {
  if (db.dialect.name === 'postgres') {
    const [row] = await db.query<{ scanned: unknown; found: unknown; pid: number }>(OF_TABLES)
    const cpuMicros = await readServerCpu(serverPid ?? (await findServer(row?.pid)))
    return { scanned: Number(row?.scanned), found: Number(row?.found), cpuMicros }
  }
  const rows = await db.query<{ Variable_name: string; Value: string }>(OF_HANDLER)
  const counted = (name: string) => Number(rows.find((row) => row.Variable_name === name)?.Value)
  return {
    scanned: counted('Handler_read_rnd_next'),
    found: counted('Handler_read_key'),
    cpuMicros: await readServerCpu(serverPid),
  }
}

/** The process that started a backend of PostgreSQL; undefined where the backend is not a process of this machine. */
async function findServer(backendPid = 0): Promise<number | undefined> {
  const backend = await readStat(backendPid)
  return backend?.name.startsWith('postgres') ? backend.parent : undefined
}

/** The processor time of a server, its present processes and its ended ones. */
async function readServerCpu(pid?: number): Promise<number> {
  if (pid === undefined) return Number.NaN
  const processes = await Promise.all(
    (await readdir('/proc'))
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .map(readStat),
  )
  const server = processes.find((each) => each?.pid === pid)
  const children = processes.filter((each) => each?.parent === pid)
  const ticks = server ? server.ownTicks + server.endedTicks : Number.NaN
  return children.reduce((sum, each) => sum + (each?.ownTicks ?? 0), ticks) * TICK_MICROS
}

/** See proc_pid_stat(5). The second field, the name, may contain spaces. */
async function readStat(pid: number) {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  if (stat === undefined) return undefined
  const [, name = '', rest = ''] = /\((.*)\) (.*)/s.exec(stat) ?? []
  const fields = rest.split(' ').map(Number)
  const sum = (first: number) => (fields[first] ?? 0) + (fields[first + 1] ?? 0)
  return { pid, name, parent: fields[1] ?? 0, ownTicks: sum(11), endedTicks: sum(13) }
}
