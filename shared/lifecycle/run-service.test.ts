import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'

/** A service whose parts write what happens to them. */
const PRELUDE = `
  import { once } from 'node:events'
  import { ExtensionError } from '${join(import.meta.dirname, '../extensions/find-extensions.ts')}'
  import { ListenError } from '${join(import.meta.dirname, 'listen-error.ts')}'
  import { runService } from '${join(import.meta.dirname, 'run-service.ts')}'
  const say = (line) => console.log(line)
  const logger = {
    info: ({ reason = '' }, message) => say(message + ' ' + reason),
    error: say,
    fatal: ({ err }, message) => say('fatal: ' + message + (err ? '' : ', without the calls that led to it')),
  }
  const part = (lifecycle, name, close = async () => undefined) =>
    lifecycle.open(() => say('open ' + name), async () => { await close(); say('close ' + name) })
  const never = new Promise((resolve) => setTimeout(resolve, 2 ** 30))
  const run = (openService) => runService({}, async () => ({ openService }))
`

/** Runs `openService` and calls `events` when their lines are written; gives all lines and the exit code. */
async function run(openService: string, events: Record<string, (child: ChildProcess) => void> = {}) {
  const code = `${PRELUDE}\nawait run(async (lifecycle) => {${openService}})`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const { stdout, stderr } = child
  if (!stdout || !stderr) throw new Error('The process has no pipes')
  const exited = once(child, 'exit')
  const errors = text(stderr)
  const lines: string[] = []
  for await (const chunk of stdout) {
    for (const line of String(chunk).split('\n').filter(Boolean)) {
      lines.push(line)
      events[line.trim()]?.(child)
    }
  }
  const [exitCode] = await exited
  return { lines: lines.map((line) => line.trim()), exitCode, errors: await errors }
}

const term = (child: ChildProcess) => void child.kill('SIGTERM')
const CONFIGURE = `lifecycle.configureStop({ logger, timeoutMs: 10_000, timeoutMessage: 'too late' })\n`
const BOTH = `await part(lifecycle, 'database')\nawait part(lifecycle, 'server')\n`

/** The package that brings Node to this machine. */
const OWN_NODE = `node-${process.platform}-${process.arch}`

describe('a service', () => {
  it.each([
    { how: 'SIGTERM', stop: term, reason: 'SIGTERM' },
    { how: 'SIGINT', stop: (child: ChildProcess) => void child.kill('SIGINT'), reason: 'SIGINT' },
    { how: 'SIGHUP', stop: (child: ChildProcess) => void child.kill('SIGHUP'), reason: 'SIGHUP' },
    { how: 'loss of its parent', stop: (child: ChildProcess) => child.disconnect(), reason: 'disconnect' },
  ])('closes its parts in reverse order and exits with 0 after $how', async ({ stop, reason }) => {
    const { lines, exitCode } = await run(`${CONFIGURE}${BOTH}say('ready')`, { ready: stop })
    expect(lines).toEqual([
      'open database',
      'open server',
      'ready',
      `stopping ${reason}`,
      'close server',
      'close database',
      'stopped',
    ])
    expect(exitCode).toBe(0)
  })

  it('that is stopped while a part is being opened closes it too, and opens no more', async () => {
    const opening = `
      await lifecycle.open(
        async () => { say('opening'); await new Promise((resolve) => process.once('SIGTERM', resolve)) },
        () => say('close the late one'))
      await part(lifecycle, 'never')`
    const { lines, exitCode } = await run(`${CONFIGURE}await part(lifecycle, 'database')\n${opening}`, {
      opening: term,
    })
    expect(lines).toEqual([
      'open database',
      'opening',
      'stopping SIGTERM',
      'close the late one',
      'close database',
      'stopped',
    ])
    expect(exitCode).toBe(0)
  })

  it('that is stopped before its settings are read exits with 0', async () => {
    const { lines, exitCode } = await run(
      `say('loading')\nawait new Promise((resolve) => process.once('SIGTERM', resolve))\n${BOTH}`,
      { loading: term },
    )
    expect({ lines, exitCode }).toEqual({ lines: ['loading'], exitCode: 0 })
  })

  it('goes on closing when more signals arrive', async () => {
    const slow = `async () => {
      const signals = Promise.all([once(process, 'SIGTERM'), once(process, 'SIGINT')])
      say('closing')
      await signals
    }`
    const { lines, exitCode } = await run(
      `${CONFIGURE}await part(lifecycle, 'server', ${slow})\nsay('ready')`,
      {
        ready: term,
        closing: (child) => {
          child.kill('SIGTERM')
          child.kill('SIGINT')
        },
      },
    )
    expect(lines).toEqual(['open server', 'ready', 'stopping SIGTERM', 'closing', 'close server', 'stopped'])
    expect(exitCode).toBe(0)
  })

  it.each([
    { what: 'a part cannot be opened', failing: `await lifecycle.open(() => { throw new Error('taken') })` },
    { what: 'nothing catches an error', failing: `setTimeout(() => { throw new Error('taken') })` },
    { what: 'nothing catches a rejection', failing: `void Promise.reject(new Error('taken'))` },
  ])('closes what is open and exits with 1 when $what', async ({ failing }) => {
    const { lines, exitCode } = await run(`${CONFIGURE}${BOTH}${failing}`)
    expect(lines).toEqual([
      'open database',
      'open server',
      'fatal: taken',
      'close server',
      'close database',
      'stopped',
    ])
    expect(exitCode).toBe(1)
  })

  it('logs a port that cannot be used without the calls that led to it, which help nobody', async () => {
    const { lines, exitCode } = await run(
      `${CONFIGURE}await lifecycle.open(() => { throw new ListenError('taken') })`,
    )
    expect(lines).toEqual(['fatal: taken, without the calls that led to it', 'stopped'])
    expect(exitCode).toBe(1)
  })

  it('closes the other parts when one cannot be closed, and exits with 1', async () => {
    const { lines, exitCode } = await run(
      `${CONFIGURE}await part(lifecycle, 'database')
      await part(lifecycle, 'server', async () => { throw new Error('stuck') })
      say('ready')`,
      { ready: term },
    )
    expect(lines.slice(-4)).toEqual(['stopping SIGTERM', 'close database', 'fatal: stuck', 'stopped'])
    expect(exitCode).toBe(1)
  })

  it('exits with 1 and says why when its parts take too long to close', async () => {
    const { lines, exitCode } = await run(
      `lifecycle.configureStop({ logger, timeoutMs: 50, timeoutMessage: 'too late' })
      await part(lifecycle, 'server', () => never)
      say('ready')`,
      { ready: term },
    )
    expect(lines.slice(-2)).toEqual(['stopping SIGTERM', 'too late'])
    expect(exitCode).toBe(1)
  })

  it.each([
    { of: ['.bin/node', OWN_NODE], advice: 'start it by npm or npx' },
    { of: [OWN_NODE], advice: 'run `npm rebuild --ignore-scripts`' },
    { of: [], advice: 'run `npm ci --include=optional`' },
  ])(
    'says in one line that Node is too old, and with $of in node_modules: $advice',
    async ({ of, advice }) => {
      await using folder = await mkdtempDisposable(join(tmpdir(), 'require-node-'))
      const file = join(folder.path, 'shared/lifecycle/require-node.cjs')
      await cp(join(import.meta.dirname, 'require-node.cjs'), file)
      for (const name of of) await mkdir(join(folder.path, 'node_modules', name), { recursive: true })
      const code = `Object.defineProperty(process.versions, 'node', { value: '22.20.0' }); require('${file}')`
      const { status, stderr } = spawnSync(process.execPath, ['--eval', code], { encoding: 'utf8' })
      expect(status).toBe(1)
      expect(stderr).toMatch(/^Latchkey needs Node 24 or newer, and this is 22\.20\.0 .*\n$/)
      expect(stderr).toContain(advice)
    },
  )

  it('closes what is open, writes one message without a stack and exits with 78 where an extension cannot be used', async () => {
    const { lines, exitCode, errors } = await run(
      `${CONFIGURE}await part(lifecycle, 'database')\nthrow new ExtensionError('notes', 'a role is not declared')`,
    )
    expect(lines).toEqual(['open database', 'close database', 'stopped'])
    expect({ exitCode, errors }).toEqual({
      exitCode: 78,
      errors: 'The extension notes cannot be used: a role is not declared\n',
    })
  })

  it('writes a failure to standard error while there is no logger', async () => {
    const { exitCode, errors } = await run(`throw new Error('no such module')`)
    expect(errors).toContain('no such module')
    expect(exitCode).toBe(1)
  })
})
