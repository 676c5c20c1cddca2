import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { clearLockedPorts } from 'get-port'
import pg from 'pg'
import { expect } from 'vitest'
import { type EmbeddedServer, startEmbeddedPostgres } from '../scripts/local/embedded/postgres.ts'
import { findFreePort } from './free-port.ts'
import { VOLATILE_FOLDER } from './servers/volatile-folder.ts'
import { waitFor } from './wait-for.ts'

export const PORT = await findFreePort()

export function aDataDir() {
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
export function start(
  dataDir: string,
  options: { port?: number; log?: (line: string) => void } = {},
): Promise<EmbeddedServer> {
  clearLockedPorts()
  return startEmbeddedPostgres({ dataDir, database: 'latchkey', port: PORT, ...options })
}

const LAUNCHER = `
  const { startEmbeddedPostgres } = await import(process.argv[1])
  try {
    const logged = []
    const log = (line) => logged.push(line)
    const { url, port, stop } = await startEmbeddedPostgres({ dataDir: process.argv[2], database: 'latchkey', port: ${PORT}, log })
    process.once('SIGTERM', stop)
    console.log(JSON.stringify({ url, port, logged }))
  } catch (error) {
    console.log(JSON.stringify({ error: error.message }))
  }
`

export function launchProcess(dataDir: string, uid?: number): ChildProcess {
  const module = fileURLToPath(import.meta.resolve('../scripts/local/embedded/postgres.ts'))
  return spawn(process.execPath, ['--input-type=module', '-e', LAUNCHER, module, dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  })
}

/** A launcher in a separate process, because a lock and a kill -9 are between processes. */
export async function launch(dataDir: string, uid?: number) {
  const child = launchProcess(dataDir, uid)
  let output = ''
  child.stdout?.on('data', (chunk) => {
    output += chunk
  })
  const hasAnswered = () => output.includes('\n') || child.exitCode !== null
  await waitFor(hasAnswered, { lastSeen: () => output })
  const answer: { url: string; port: number; logged: string[]; error?: string } = JSON.parse(output)
  if (answer.error) throw new Error(answer.error)
  return {
    url: answer.url,
    port: answer.port,
    logged: answer.logged,
    kill: () => kill(child),
    [Symbol.asyncDispose]: () => kill(child, 'SIGTERM'),
  }
}

export function kill(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.kill(signal)
  })
}

export function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Its parent was quicker.
  }
}

export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined) // Servers end under their clients here.
  await client.connect()
  return client
}

export async function query(url: string, statement: string): Promise<unknown[]> {
  const client = await connect(url)
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

/** Waits until the server works on a statement that begins so. */
export const isBusy = (url: string, beginning: string) =>
  expect
    .poll(() =>
      query(url, `SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE '${beginning}%'`),
    )
    .toHaveLength(1)

export const postmasterPid = (dataDir: string): number =>
  Number(readFileSync(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8').split('\n')[0])

export const isInitialising = (dataDir: string): boolean =>
  readdirSync(dataDir).some((name) => existsSync(join(dataDir, name, 'data/PG_VERSION')))

export function serverProcesses(dataDir: string): number[] {
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

export async function listen(port = 0) {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    [Symbol.asyncDispose]: async () => {
      server.close()
    },
  }
}
