import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { docker, ROOT } from '../images.ts'
import { hasDocker } from '../servers/shared-server.ts'

const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs')
const CONFIG = 'test-support/guard/fixture/vitest.config.ts'

interface Notes {
  pids?: number[]
  folder?: string
  server?: string
  container?: string
  waits?: boolean
}

function read(path: string): Notes {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
  return Object.fromEntries(lines.map((line) => JSON.parse(line)))
}

it.each(['SIGINT', 'SIGTERM', 'SIGKILL', undefined] as const)(
  'a run leaves nothing that its tests have started: ended by %s, or by itself after a hook that failed',
  async (signal) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-leave-'))
    const path = join(folder.path, 'notes')
    const run = spawn(process.execPath, [VITEST, 'run', '--config', CONFIG], {
      cwd: ROOT,
      env: { ...process.env, NOTES: path, FAILS: signal ? '' : '1' },
      stdio: 'ignore',
    })
    const exited = once(run, 'exit')
    if (signal) {
      await expect.poll(() => read(path).waits).toBe(true)
      run.kill(signal)
    }
    await exited

    const { pids = [], folder: left = '', server = '', container } = read(path)
    expect(pids).toHaveLength(4)
    await expect.poll(() => pids.filter(isAlive)).toEqual([])
    expect(left).not.toBe('')
    await expect.poll(() => existsSync(left)).toBe(false)
    await expect.poll(() => answers(Number(new URL(server).port))).toBe(false)
    if (hasDocker()) expect(await isReaped(String(container))).toBe(true)
  },
)

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  return once(socket, 'connect')
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy())
}

/** True where Testcontainers' reaper removes it, 10 s after the last run on this machine, if it has not. */
async function isReaped(container: string): Promise<boolean> {
  const label = '{{index .Config.Labels "org.testcontainers.session-id"}}'
  const session = await docker('inspect', '--format', label, container).catch(() => undefined)
  if (session === undefined) return true
  const reaper = await docker('ps', '--quiet', '--filter', `name=testcontainers-ryuk-${session}`)
  return reaper !== ''
}
