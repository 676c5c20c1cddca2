import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { clearLockedPorts } from 'get-port'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { VOLATILE_FOLDER } from '../../../services/test/servers/volatile-folder.ts'
import { findFreePort } from '../../../services/test/support/free-port.ts'
import { type EmbeddedServer, startEmbeddedPostgres } from './postgres.ts'

const isRoot = process.getuid?.() === 0
const ROOT_ONLY = isRoot ? '' : ' (skipped: takes root to try)'
const NOBODY = 65_534
const PORT = await findFreePort()

// The tests look for processes in /proc.
describe.skipIf(process.platform !== 'linux')('the embedded PostgreSQL', () => {
  let first: EmbeddedServer
  beforeAll(async () => {
    first = await start(template.path)
    await query(first.url, "CREATE TABLE first_start AS SELECT lower('ÉÄŽ') AS text")
    await first.stop()
  })
  afterAll(() => template[Symbol.asyncDispose]())

  it('runs after the first start, handles letters beyond ASCII, and keeps its data for the next start', async () => {
    expect(await first.exited).toBeUndefined()
    await using second = await start(template.path)
    expect(await query(second.url, 'SELECT text FROM first_start')).toEqual([{ text: 'éäž' }])
    expect(second.port).toBe(first.port)
    expect(second.url).toBe(first.url)
  })

  it('leaves no process and no port behind when it stops, with a client still connected', async () => {
    await using folder = aDataDirWithCluster()
    const server = await start(folder.path)
    const client = await connect(server.url)
    const sleeping = client.query('SELECT pg_sleep(60)').catch((error: unknown) => error)
    await isBusy(server.url, 'SELECT pg_sleep')
    await Promise.all([server.stop(), server.stop()])
    expect(await sleeping).toBeInstanceOf(Error)
    await client.end()
    expect(serverProcesses(folder.path)).toEqual([])
    expect(readdirSync(folder.path).sort()).toEqual(['postgres'])
    expect(existsSync(join(folder.path, 'postgres/data/postmaster.pid'))).toBe(false)
  })

  it('requires its generated password, which only its owner may read and no log line shows', async () => {
    await using folder = aDataDirWithCluster()
    const lines: string[] = []
    await using server = await start(folder.path, { log: (line) => lines.push(line) })
    const file = join(folder.path, 'postgres/password')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const password = readFileSync(file, 'utf8')
    expect(password).toMatch(/^[\w-]{32}$/)
    await expect(query(server.url.replace(password, 'guess'), 'SELECT 1')).rejects.toThrow('authentication')
    await query(server.url, 'CREATE TABLE secret (hash text UNIQUE)')
    await query(server.url, "INSERT INTO secret VALUES ('5ecret')")
    await expect(query(server.url, "INSERT INTO secret VALUES ('5ecret')")).rejects.toThrow('duplicate')
    expect(lines.join('\n')).toContain('duplicate key')
    expect(lines.join('\n')).not.toMatch(new RegExp(`5ecret|${password}`))
  })

  it('takes another port when its own is taken, and says so', async () => {
    await using folder = aDataDirWithCluster()
    await using other = await listen()
    const lines: string[] = []
    await using server = await start(folder.path, { port: other.port, log: (line) => lines.push(line) })
    expect(server.port).not.toBe(other.port)
    expect(lines).toContain(`Port ${other.port} is taken; PostgreSQL listens on ${server.port}`)
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  it('refuses a second launcher, naming the server of the first, which keeps running', async () => {
    await using folder = aDataDirWithCluster()
    await using first = await launch(folder.path)
    await expect(start(folder.path)).rejects.toThrow(
      `Latchkey is already running on the data folder ${folder.path} (PostgreSQL with pid ${postmasterPid(folder.path)} on port ${first.port})`,
    )
    expect(await query(first.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  it('lets exactly one of several simultaneous first starts win', async () => {
    await using folder = aDataDir()
    const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => launch(folder.path)))
    const won = outcomes.filter((outcome) => outcome.status === 'fulfilled')
    const lost = outcomes.filter((outcome) => outcome.status === 'rejected')
    expect(won).toHaveLength(1)
    for (const { reason } of lost)
      expect(String(reason)).toMatch(/already running on|postmaster\.pid" already exists/)
    expect(readdirSync(folder.path)).toEqual(['postgres'])
    await won[0]?.value[Symbol.asyncDispose]()
  })

  it('ends with a launcher that is killed, and keeps its data for the one that starts at once', async () => {
    await using folder = aDataDirWithCluster()
    const first = await launch(folder.path)
    await query(first.url, "CREATE TABLE note AS SELECT 'kept' AS text")
    await first.kill()
    await using second = await start(folder.path)
    expect(await query(second.url, 'SELECT text FROM note')).toEqual([{ text: 'kept' }])
    expect(second.port).toBe(first.port)
    await second.stop()
    expect(serverProcesses(folder.path)).toEqual([])
  })

  it('recovers after a kill -9 of all processes at once', async () => {
    await using folder = aDataDirWithCluster()
    const first = await launch(folder.path)
    await query(first.url, "CREATE TABLE note AS SELECT 'kept' AS text")
    const all = serverProcesses(folder.path)
    await first.kill()
    for (const pid of all) killIfThere(pid)

    await using second = await start(folder.path)
    expect(await query(second.url, 'SELECT text FROM note')).toEqual([{ text: 'kept' }])
  })

  it('recovers by itself when only the children of the server are killed', async () => {
    await using folder = aDataDirWithCluster()
    await using server = await start(folder.path)
    const postmaster = postmasterPid(folder.path)
    for (const pid of serverProcesses(folder.path).filter((child) => child !== postmaster)) killIfThere(pid)
    await expect.poll(() => query(server.url, 'SELECT 1 AS one').catch(() => [])).toHaveLength(1)
  })

  it('reports that the server died, and can be stopped and started again', async () => {
    await using folder = aDataDirWithCluster()
    const server = await start(folder.path)
    process.kill(postmasterPid(folder.path), 'SIGKILL')
    expect((await server.exited)?.message).toContain('ended with 137')
    await server.stop()
    expect(serverProcesses(folder.path)).toEqual([])
    await using next = await start(folder.path)
    expect(await query(next.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  it('starts over when a kill -9 ended the first start during initdb', async () => {
    await using folder = aDataDir()
    const starting = launchProcess(folder.path)
    await expect.poll(() => isInitialising(folder.path), { interval: 5 }).toBe(true)
    await kill(starting)
    expect(existsSync(join(folder.path, 'postgres'))).toBe(false)

    await using server = await start(folder.path)
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  it('refuses the data of another version, and quotes PostgreSQL on damaged data', async () => {
    await using folder = aDataDirWithCluster()
    await (await start(folder.path)).stop()
    const data = join(folder.path, 'postgres/data')
    writeFileSync(join(data, 'PG_VERSION'), '17\n')
    await expect(start(folder.path)).rejects.toThrow('created by PostgreSQL 17, and this is PostgreSQL 18')
    writeFileSync(join(data, 'PG_VERSION'), '18\n')
    rmSync(join(data, 'global/pg_control'))
    await expect(start(folder.path)).rejects.toThrow(/PostgreSQL said:[\s\S]*pg_control/)
  })

  it.skipIf(!isRoot)(`runs under root in a folder that only root may enter${ROOT_ONLY}`, async () => {
    await using folder = aDataDir()
    const closed = join(folder.path, 'closed')
    mkdirSync(closed, { mode: 0o700 })
    chmodSync(folder.path, 0o700)
    const server = await start(join(closed, 'data'))
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    expect(statSync(`/proc/${postmasterPid(join(closed, 'data'))}`).uid).not.toBe(0)
    await server.stop()
    await using again = await start(join(closed, 'data'))
    expect(await query(again.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  it.skipIf(!isRoot)(
    `runs for a normal user, and names the owner of the data to another one${ROOT_ONLY}`,
    async () => {
      await using folder = aDataDir()
      chownSync(folder.path, NOBODY, NOBODY)
      const first = await launch(folder.path, NOBODY)
      expect(await query(first.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
      expect(statSync(`/proc/${postmasterPid(folder.path)}`).uid).toBe(NOBODY)
      await first[Symbol.asyncDispose]()
      await expect(launch(folder.path, 1)).rejects.toThrow(
        `The database in ${folder.path} (DATA_DIR) belongs to uid ${NOBODY}, and this is uid 1`,
      )
      // Under root the data keep their owner.
      await (await start(folder.path)).stop()
      expect(statSync(join(folder.path, 'postgres/data')).uid).toBe(NOBODY)
    },
  )
})

/** A data directory whose cluster is copied: initdb takes seconds, and is the subject of few cases. */
const template = aDataDir()

function aDataDirWithCluster() {
  const folder = aDataDir()
  execFileSync('cp', ['-a', join(template.path, 'postgres'), folder.path])
  return folder
}

function aDataDir() {
  const path = mkdtempSync(join(VOLATILE_FOLDER, 'latchkey-embedded-'))
  chmodSync(path, 0o755)
  return {
    path,
    [Symbol.asyncDispose]: async () => {
      for (const pid of serverProcesses(path)) killIfThere(pid)
      rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
    },
  }
}

/** A start as of a new process, to which get-port has not given a port yet. */
function start(
  dataDir: string,
  options: { port?: number; log?: (line: string) => void } = {},
): Promise<EmbeddedServer> {
  clearLockedPorts()
  return startEmbeddedPostgres({ dataDir, database: 'latchkey', port: PORT, ...options })
}

const LAUNCHER = `
  const { startEmbeddedPostgres } = await import(process.argv[1])
  try {
    const { url, port, stop } = await startEmbeddedPostgres({ dataDir: process.argv[2], database: 'latchkey', port: ${PORT} })
    process.once('SIGTERM', stop)
    console.log(JSON.stringify({ url, port }))
  } catch (error) {
    console.log(JSON.stringify({ error: error.message }))
  }
`

function launchProcess(dataDir: string, uid?: number): ChildProcess {
  const module = fileURLToPath(import.meta.resolve('./postgres.ts'))
  return spawn(process.execPath, ['--input-type=module', '-e', LAUNCHER, module, dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  })
}

/** A launcher in a separate process, because a lock and a kill -9 are between processes. */
async function launch(dataDir: string, uid?: number) {
  const child = launchProcess(dataDir, uid)
  let output = ''
  child.stdout?.on('data', (chunk) => {
    output += chunk
  })
  await expect
    .poll(() => output.includes('\n') || child.exitCode !== null, { timeout: 60_000, interval: 10 })
    .toBe(true)
  const answer: { url: string; port: number; error?: string } = JSON.parse(output)
  if (answer.error) throw new Error(answer.error)
  return {
    url: answer.url,
    port: answer.port,
    kill: () => kill(child),
    [Symbol.asyncDispose]: () => kill(child, 'SIGTERM'),
  }
}

function kill(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.kill(signal)
  })
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Its parent was quicker.
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined) // Servers end under their clients here.
  await client.connect()
  return client
}

async function query(url: string, statement: string): Promise<unknown[]> {
  const client = await connect(url)
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

/** Waits until the server works on a statement that begins so. */
const isBusy = (url: string, beginning: string) =>
  expect
    .poll(() =>
      query(url, `SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE '${beginning}%'`),
    )
    .toHaveLength(1)

const postmasterPid = (dataDir: string): number =>
  Number(readFileSync(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8').split('\n')[0])

const isInitialising = (dataDir: string): boolean =>
  readdirSync(dataDir).some((name) => existsSync(join(dataDir, name, 'data/PG_VERSION')))

function serverProcesses(dataDir: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`).startsWith(dataDir)
      } catch {
        return false
      }
    })
    .map(Number)
}

async function listen() {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    [Symbol.asyncDispose]: async () => {
      server.close()
    },
  }
}
