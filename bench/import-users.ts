/*
 * Measures `scriptify run Users::import`: the time of the whole command and its peak resident memory, for CSV files of
 * 100,000 and 300,000 users with existing hashes, on postgres:18 and mysql:9 in containers.
 *
 *   npm run bench:import [-- --rows 100000,300000] [--engines postgres,mysql]
 */
import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { openDatabase } from '@latchkey/shared/database/open-database.ts'
import { MySqlContainer } from '@testcontainers/mysql'
import { postgresContainer } from '../services/test/support/postgres-container.ts'

const ROOT = join(import.meta.dirname, '..')
const SCRIPTIFY = join(ROOT, 'services/scriptify/bin/scriptify')
const POLL_INTERVAL_MS = 50

const ENGINES: Record<string, () => Promise<{ url: string; stop: () => Promise<unknown> }>> = {
  postgres: async () => {
    const container = await postgresContainer().start()
    return { url: container.getConnectionUri(), stop: () => container.stop() }
  },
  mysql: async () => {
    const container = await new MySqlContainer('mysql:9').start()
    return { url: container.getConnectionUri(), stop: () => container.stop() }
  },
}

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '100000,300000' },
    engines: { type: 'string', default: Object.keys(ENGINES).join() },
  },
})

const folder = await mkdtemp(join(tmpdir(), 'latchkey-bench-'))
try {
  console.log(`${cpus().length} cores, Node ${process.version}`)
  const results = []
  for (const rows of values.rows.split(',').map(Number)) {
    const file = await writeUsers(join(folder, `${rows}.csv`), rows)
    for (const engine of values.engines.split(',')) results.push(await measure(engine, file, rows))
  }
  console.table(results)
} finally {
  await rm(folder, { recursive: true, force: true })
}

async function writeUsers(path: string, rows: number): Promise<string> {
  function* lines() {
    yield 'username,email,name,role,password_hash\n'
    for (let row = 1; row <= rows; row++) {
      yield `user${row},user${row}@example.com,User ${row},user,${hash('sha1', `password ${row}`)}\n`
    }
  }
  await pipeline(Readable.from(lines()), createWriteStream(path))
  return path
}

async function measure(engine: string, file: string, rows: number) {
  const server = await ENGINES[engine]?.()
  if (server === undefined)
    throw new Error(`Unknown engine ${engine}; use one of ${Object.keys(ENGINES).join(', ')}`)
  try {
    const db = await openDatabase(server.url, { poolSize: 1 })
    await createMigrator(db).up()
    await db.close()
    const start = performance.now()
    const peakMib = await importUsers(file, server.url)
    const seconds = (performance.now() - start) / 1000
    return {
      engine,
      rows,
      'file MiB': Math.round((await stat(file)).size / 1024 ** 2),
      seconds: Number(seconds.toFixed(1)),
      'rows a second': Math.round(rows / seconds),
      'peak RSS MiB': peakMib,
    }
  } finally {
    await server.stop()
  }
}

/** Resolves with the peak of resident memory in MiB. The command stays in one process. */
async function importUsers(file: string, url: string): Promise<number> {
  const child = spawn(process.execPath, [SCRIPTIFY, 'run', 'Users::import', '--arg', file], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, APP_ENV: 'test', DATABASE_URL: url },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  let peakKib = 0
  const timer = setInterval(async () => {
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '')
    // Reset when scriptify executes the method in its place, so the maximum is kept.
    peakKib = Math.max(peakKib, Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0))
  }, POLL_INTERVAL_MS)
  const [code] = await once(child, 'exit')
  clearInterval(timer)
  if (code !== 0) throw new Error(`Users::import ended with ${code}`)
  return Math.round(peakKib / 1024)
}
