import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { DEMO_PASSWORD } from '@latchkey/shared/users/demo-users.ts'
import { expect } from 'vitest'
import { findFreePort } from './free-port.ts'
import { VOLATILE_FOLDER } from './servers/volatile-folder.ts'
import { waitFor } from './wait-for.ts'

export const ROOT = join(import.meta.dirname, '..')
/** Settings of a start without a mail inbox. */
export const WITHOUT_INBOX = { MAIL_URL: 'null:' }

export interface Start extends AsyncDisposable {
  process: ChildProcess
  output: () => string
  exited: Promise<number | null>
  untilReady(): Promise<void>
  untilSaid(text: string): Promise<void>
}

/** `npm start` with these settings, in a data folder and on ports of its own, with all that it brings. */
export async function ownSettings() {
  const dataDir = await mkdtemp(join(VOLATILE_FOLDER, 'latchkey-start-'))
  const port = async () => String(await findFreePort())
  return {
    settings: {
      APP_ENV: 'dev',
      DATA_DIR: dataDir,
      PORT: await port(),
      METRICS_PORT: await port(),
      DATABASE_URL: '',
      QUEUE_URL: '',
      MAIL_URL: '',
    },
    [Symbol.asyncDispose]: () => rm(dataDir, { recursive: true, force: true, maxRetries: 10 }),
  }
}

/** `npm start`, or another command, as a user runs it, in its own process group as a terminal gives it. */
export function npmStart(settings: Record<string, string>, command = 'npm start'): Start {
  const child = spawn('sh', ['-c', `exec ${command}`], {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...settings },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
    })
  }
  const exited = once(child, 'close').then(([code]) => code as number | null)
  const untilSaid = async (text: string) => {
    const isOver = () => output.includes(text) || child.exitCode !== null || child.signalCode !== null
    await waitFor(isOver, { lastSeen: () => output })
    expect(output).toContain(text)
  }
  return {
    process: child,
    output: () => output,
    exited,
    untilReady: () => untilSaid('Latchkey is ready'),
    untilSaid,
    async [Symbol.asyncDispose]() {
      signalGroup(child, 'SIGTERM')
      await exited
    },
  }
}

export function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-(child.pid ?? 0), signal)
  } catch {
    // The group is gone, as it should be.
  }
}

/** Runs a line in a shell that knows of nothing yet. */
export async function asAdmin(line: string): Promise<string> {
  const { stdout } = await promisify(execFile)('sh', ['-c', line], {
    cwd: ROOT,
    env: { PATH: process.env.PATH },
  })
  return stdout
}

/** The file that `npm start` names for admins. */
export function adminFileOf(start: Start): string {
  const [, file = ''] = /^ {2}admin +\. (\S+) && npx scriptify run Queue::status$/m.exec(start.output()) ?? []
  return resolve(ROOT, file)
}

export const apiOf = (start: Start): string => /API +(\S+)$/m.exec(start.output())?.[1] ?? 'no API'

export const inboxOf = (start: Start): string => /mail +(http:\S+)/.exec(start.output())?.[1] ?? 'no inbox'

export const logIn = (api: string, { password = DEMO_PASSWORD, username = 'user@example.com' } = {}) =>
  fetch(`${api}/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password }),
  })

/** True where anything answers there. */
export const answers = (api: string): Promise<boolean> =>
  fetch(`${api}/health/live`).then(
    () => true,
    () => false,
  )
