import type { ChildProcess } from 'node:child_process'
import { createLastLines, readLines } from './last-lines.ts'
import type { PostgresBinaries } from './postgres-binaries.ts'
import type { ServerAccount } from './server-account.ts'

const READY = 'database system is ready to accept connections'
/** A fast shutdown writes a checkpoint. One that takes longer than this does not end by itself. */
const FAST_SHUTDOWN_MS = 30_000
/** After a kill -9 a child of the server may hold its stderr open. */
const LAST_LINES_WAIT_MS = 200

export interface PostmasterOptions {
  dataDirectory: string
  port: number
  binaries: PostgresBinaries
  account: ServerAccount
  log: (line: string) => void
  /** Settings of PostgreSQL over those of the launcher. */
  settings?: Record<string, string> | undefined
}

export interface Postmaster {
  port: number
  /** Resolves with undefined after `stop()`, else with what happened. */
  exited: Promise<Error | undefined>
  stop(): Promise<void>
}

/** Another process listens on the port. */
export class PortTakenError extends Error {}

/** Starts the server and waits until it accepts connections; throws with the last lines that it wrote. */
export async function startPostmaster(options: PostmasterOptions): Promise<Postmaster> {
  const { account, binaries, log, port } = options
  const child = account.spawn(binaries.postgres, serverArguments(options), {
    // In its own session: Ctrl-C in the terminal reaches the launcher only, which stops the server last.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const killWithLauncher = () => child.kill('SIGINT')
  process.once('exit', killWithLauncher)

  const lastLines = createLastLines()
  const ready = Promise.withResolvers<void>()
  readLines(child.stderr, (line) => {
    lastLines.add(line)
    log(line)
    if (line.includes(READY)) ready.resolve()
  })

  let isStopping = false
  const exited = waitForEnd(child).then((how) => {
    process.off('exit', killWithLauncher)
    return isStopping ? undefined : new Error(`The embedded PostgreSQL ${how}${lastLines.quote()}`)
  })
  const failure = await Promise.race([ready.promise, exited])
  if (failure) throw lastLines.includes('could not bind') ? new PortTakenError(failure.message) : failure

  return {
    port,
    exited,
    stop: async () => {
      isStopping = true
      child.kill('SIGINT')
      const timer = setTimeout(() => child.kill('SIGQUIT'), FAST_SHUTDOWN_MS)
      await exited
      clearTimeout(timer)
    },
  }
}

function serverArguments({ dataDirectory, port, settings = {} }: PostmasterOptions): string[] {
  const all = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    // The path of a socket may have at most 107 bytes; that of a checkout may be longer.
    unix_socket_directories: '',
    max_connections: '60',
    timezone: 'UTC',
    log_timezone: 'UTC',
    // English, because READY is searched for in the log.
    lc_messages: 'C',
    logging_collector: 'off',
    log_destination: 'stderr',
    // Details and statements contain row values: a hash, an address, a sealed mail.
    log_error_verbosity: 'terse',
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
    ...settings,
  }
  return ['-D', dataDirectory, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}

/** Waits for the process to end, and then for its last lines. */
async function waitForEnd(child: ChildProcess): Promise<string> {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const how = await new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`))
    child.once('exit', (code, signal) =>
      resolve(signal ? `was ended by ${signal}` : `ended with code ${code}`),
    )
  })
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, LAST_LINES_WAIT_MS)
  await Promise.race([closed, late])
  clearTimeout(timer)
  return how
}
