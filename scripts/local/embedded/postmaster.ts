import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { adviseOnPostgres } from './advise-on-postgres.ts'
import type { PostgresBinaries } from './postgres-binaries.ts'
import type { ServerAccount } from './server-account.ts'

const READY = 'database system is ready to accept connections'
const KEPT_LINES = 12

/** Runs the server until its own standard input is closed, which happens whenever and however the launcher ends. */
const UNTIL_LAUNCHER_ENDS = `
  exec 3<&0
  "$@" 3<&- &
  server=$!
  { cat <&3 >/dev/null; kill -INT "$server"; } 2>/dev/null &
  wait "$server"`

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
  /** Resolves when the server has ended: with undefined after `stop()`, else with PostgreSQL's last lines. */
  exited: Promise<Error | undefined>
  /** Fast shutdown: ends open connections and leaves no process behind. May be called twice. */
  stop(): Promise<void>
}

/** Starts the server and waits until it accepts connections; throws with the last lines that it wrote. */
export async function startPostmaster(options: PostmasterOptions): Promise<Postmaster> {
  const { account, binaries, log } = options
  const command = ['-c', UNTIL_LAUNCHER_ENDS, 'sh', binaries.postgres, ...serverArguments(options)]
  // In its own session: Ctrl-C in the terminal reaches the launcher only, which stops the server last.
  const child = account.spawn('/bin/sh', command)

  const lines: string[] = []
  const ready = Promise.withResolvers<void>()
  let isReady = false
  createInterface({ input: child.stderr }).on('line', (line) => {
    lines.push(line)
    lines.splice(0, lines.length - KEPT_LINES)
    if (line.includes(READY)) {
      isReady = true
      ready.resolve()
    }
    // The error of a failed start contains the lines before.
    if (isReady) log(line)
  })

  let isStopping = false
  child.once('exit', () => child.stdin.end())
  const exited = once(child, 'close').then(([code, signal]) => {
    if (isStopping) return undefined
    const advice = adviseOnPostgres(lines.join('\n'))
    const said = lines.map((line) => `\n  ${line}`).join('')
    const reason = advice ? `: ${advice}` : `. PostgreSQL said:${said}`
    return new Error(`The embedded PostgreSQL ended with ${signal ?? code}${reason}`)
  })
  const failure = await Promise.race([ready.promise, exited])
  if (failure) throw failure
  return {
    exited,
    async stop() {
      isStopping = true
      child.stdin.end()
      await exited
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
    // English, because READY is searched for in the log.
    lc_messages: 'C',
    // Details and statements contain row values: a hash, an address, a sealed mail.
    log_error_verbosity: 'terse',
    log_min_error_statement: 'panic',
    ...settings,
  }
  return ['-D', dataDirectory, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}
