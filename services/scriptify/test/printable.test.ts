import { mkdirSync, mkdtempDisposableSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCli } from '../src/cli/run-cli.ts'
import { CliError } from '../src/io/cli-error.ts'
import { runCheckCommand } from '../src/run/run-check-command.ts'
import { INIT_SYSTEMS } from '../src/services/init-systems.ts'
import { printLogs } from '../src/services/service-log.ts'
import { formatStatus } from '../src/services/service-status.ts'
import { formatBanner } from '../src/terminal/front/banner.ts'
import { nodeBackend } from '../src/terminal/node/backend.ts'
import { openChannel } from '../src/terminal/worker/channel.ts'
import { type Language, languages, startLanguage } from './run/language.ts'
import { runForBytes, runInProcess } from './run-in-process.ts'

/** The title of a window, a colour by C1, the other direction, an invisible letter, DEL. */
const HOSTILE = 'caf\u00e9\x1b]0;title\x07\u009b31m\u202e\u{e0041}\x7fend'
const SHOWN = 'caf\u00e9\\x1b]0;title\\x07\\u009b31m\\u202e\\udb40\\udc41\\u007fend'
/** Characters that no terminal may get; lines end and have tabs. */
const RAW = /(?![\t\n])[\p{Cc}\p{Cf}]/u

const folder = mkdtempDisposableSync(join(tmpdir(), 'scriptify-printable-'))
const { path: project } = folder
const log = join(project, 'service.log')
const server = createServer((request, response) => {
  const body = request.url === '/json' ? JSON.stringify({ text: HOSTILE }) : `${HOSTILE}\r\n\tmore\n`
  response.setHeader('content-type', request.url === '/json' ? 'application/json' : 'text/plain').end(body)
})

beforeAll(async () => {
  mkdirSync(join(project, 'src'))
  writeFileSync(join(project, 'scriptify.config.json'), '{ "namespaces": { "App\\\\": "src/" } }')
  writeFileSync(
    join(project, 'src/hostile.ts'),
    `/** ${HOSTILE} */
export class Hostile {
  /** ${HOSTILE} */
  fail(): void { throw new Error(${JSON.stringify(HOSTILE)}) }
  print(): void { process.stdout.write(${JSON.stringify(HOSTILE)}) }
}
`,
  )
  writeFileSync(log, `${HOSTILE}\n`)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(() => {
  server.close()
  folder.remove()
})

const CLASS = 'App\\Hostile'
const inProject = (...args: string[]) => runInProcess([...args, '--rootdir', project], { env: process.env })
const get = (path: string, isTTY: boolean) =>
  runForBytes(['endpoint', 'GET', `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`], {
    isTTY,
  })

/** The error line of a command that fails with this error. */
async function report(error: unknown, env: NodeJS.ProcessEnv = {}): Promise<string> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const program = new Command('probe').action(() => Promise.reject(error))
  await runCli(program, ['node', 'probe'], { env, stdin, stdout, stderr })
  return text(stderr.end())
}

const failedCheck = (): Promise<unknown> =>
  runCheckCommand([process.execPath, '-e', `console.error(${JSON.stringify(HOSTILE)}); process.exit(1)`], {
    rootdir: '/',
    env: {},
  }).catch((error: unknown) => error)

const showBanner = (): string =>
  formatBanner(
    {
      backend: { ...nodeBackend({ rootdir: '/', env: {} }), autoloader: HOSTILE },
      ...{ rootdir: HOSTILE, cwd: HOSTILE, preload: HOSTILE, env: { APP_ENV: HOSTILE } },
    },
    {
      opened: { version: '24', forks: false, notes: [], names: [] },
      ...{ environment: {}, history: { problem: HOSTILE }, isProduction: false },
    },
  )

async function showLog(): Promise<string> {
  const [system] = INIT_SYSTEMS
  if (system === undefined) throw new Error('There is no init system')
  const stdout = Object.assign(new PassThrough(), { isTTY: true })
  const written = text(stdout)
  const probe = { name: 'probe', system: { ...system, log: () => ({ file: log }) } }
  await printLogs([probe], { lines: 1, follow: false }, { env: {}, stdout })
  stdout.end()
  return written
}

/** Returns what the front of a terminal gets of a worker's message. */
async function receive(message: object): Promise<object> {
  const socket = new PassThrough()
  const received = new Promise<object>((resolve) => openChannel(socket, resolve))
  socket.write(`${JSON.stringify({ id: 0, ...message })}\n`)
  return received
}

describe.concurrent('text from elsewhere on a terminal', () => {
  it.each<[source: string, show: () => Promise<string> | string]>([
    ['an error of the command line', () => report(new CliError(HOSTILE, 1))],
    ['an error with its trace', () => report(new Error(HOSTILE), { SCRIPTIFY_DEBUG: '1' })],
    ['the check of an installation', async () => report(await failedCheck())],
    ['an error of the method', async () => (await inProject('run', `${CLASS}::fail`)).stderr],
    ['the list of classes', async () => (await inProject('methods')).stdout],
    ['the list of classes as JSON', async () => (await inProject('methods', '--json')).stdout],
    ['the list of methods', async () => (await inProject('methods', CLASS)).stdout],
    ['the list of methods as JSON', async () => (await inProject('methods', CLASS, '--json')).stdout],
    [
      'the documentation of a method',
      async () => (await inProject('run', `${CLASS}::fail`, '--showdocs')).stdout,
    ],
    ['an option that does not exist', async () => (await runInProcess(['methods', `--${HOSTILE}`])).stderr],
    ['the last line of a log', () => formatStatus([aService()], Number.POSITIVE_INFINITY).join('\n')],
    ['a log', showLog],
    ['a body', async () => (await get('/text', true)).bytes.toString().replaceAll('\r\n', '\n')],
    ['a body of JSON', async () => (await get('/json', true)).bytes.toString()],
    ['the banner of a terminal', showBanner],
    [
      'a value of a terminal',
      async () => JSON.stringify(await receive({ type: 'log', text: HOSTILE })).replaceAll('\\\\', '\\'),
    ],
  ])('shows %s without what the terminal would obey', async (_source, show) => {
    const shown = await show()
    expect(shown).not.toMatch(RAW)
    expect(
      shown.replaceAll('\\u001b', '\\x1b').replaceAll('\\u0007', '\\x07').replaceAll('\\\\', '\\'),
    ).toContain(SHOWN)
  })

  it('completes no name in a terminal that it would obey', async () => {
    const message = { type: 'log', candidates: ['fine.ts', `${HOSTILE}.ts`] }
    expect(await receive(message)).toMatchObject({ candidates: ['fine.ts'] })
  })

  it('keeps the values of JSON', async () => {
    const { bytes } = await get('/json', true)
    expect(JSON.parse(bytes.toString())).toEqual({ text: HOSTILE })
  })

  it('keeps the colours of a value, and what the next session is made of', async () => {
    const message = { type: 'restored', pid: 1, notes: [`\x1b[32m${HOSTILE}\x1b[39m`] }
    expect(await receive(message)).toMatchObject({ notes: [`\x1b[32m${SHOWN}\x1b[39m`] })
    expect(await receive({ type: 'dying', reason: '', snapshot: HOSTILE })).toMatchObject({
      snapshot: HOSTILE,
    })
  })

  it('leaves the bytes of a body that goes to a file, and what a method prints', async () => {
    expect((await get('/text', false)).bytes.toString()).toBe(`${HOSTILE}\r\n\tmore\n`)
    expect((await inProject('run', `${CLASS}::print`)).stdout).toBe(HOSTILE)
  })
})

const aService = () => ({
  name: 'importer',
  template: 'crond',
  file: '/etc/cron.d/importer',
  environment: '/etc/scriptify/importer.env',
  state: 'scheduled' as const,
  startsAtBoot: true,
  lastLogLine: HOSTILE,
})

describe.each(languages.filter(({ name }) => name === 'php'))(
  'text from a class in $name',
  ({ name, isThere }) => {
    let language: Language
    beforeAll(async () => {
      if (isThere) language = await startLanguage(name)
    })

    it.runIf(isThere).each([
      { source: 'an error', command: 'run hostile.php#Hostile::fail' },
      {
        source: 'an error with its trace',
        command: 'run hostile.php#Hostile::fail --env SCRIPTIFY_DEBUG=1',
      },
      { source: 'the list of methods', command: 'methods hostile.php#Hostile' },
      { source: 'documentation', command: 'run hostile.php#Hostile::fail --showdocs' },
      { source: 'an error of a terminal', command: `terminal -x 'throw new Exception("${HOSTILE}");'` },
      { source: 'a name in a terminal', command: `terminal -x '(object) ["${HOSTILE}" => 1]'` },
    ])('shows $source without what the terminal would obey', async ({ command }) => {
      const file = `<?php class Hostile { /** ${HOSTILE} */ public function fail(): void { throw new Exception('${HOSTILE}'); } }`
      const { stdout, stderr } = await language.sh(
        `mkdir -p /tmp/hostile; cd /tmp/hostile; printf %s "${file}" > hostile.php; scriptify ${command}`,
      )
      expect(stdout + stderr).not.toMatch(RAW)
      expect(stdout + stderr).toContain(SHOWN)
    })

    it.runIf(isThere)('shows a warning without what the terminal would obey', async () => {
      const { stderr } = await language.sh(`scriptify terminal -x 'trigger_error("${HOSTILE}");'`)
      expect(stderr).not.toMatch(RAW)
      expect(stderr).toContain('Notice: caf\u00e9\\x1B]0;title')
    })

    it.runIf(isThere)('shows a string as php would read it again', async () => {
      const { stdout } = await language.sh(`scriptify terminal -x '"${HOSTILE}"'`)
      expect(stdout).toBe(
        '"caf\u00e9\\e]0;title\\x07\\xC2\\x9B31m\\xE2\\x80\\xAE\\xF3\\xA0\\x81\\x81\\x7Fend"\n',
      )
    })
  },
)
