import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { createCli } from '../src/cli/cli.ts'
import { INIT_SYSTEMS } from '../src/services/init-systems.ts'
import { uninstallService } from '../src/services/uninstall-service.ts'
import { runInProcess } from './run-in-process.ts'

const COMMANDS = (await createCli()).commands.map((command) => command.name())
const LAUNCHER = join(import.meta.dirname, '../bin/scriptify')

interface Ended {
  code: number
  stdout: string
  stderr: string
}

const scriptify = (args: string[], options: { launcher?: string; env?: NodeJS.ProcessEnv } = {}) =>
  new Promise<Ended>((resolve) => {
    const { launcher = LAUNCHER, env = {} } = options
    execFile(
      process.execPath,
      [launcher, ...args],
      { env: { ...process.env, ...env } },
      (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr }),
    )
  })

describe.concurrent('the command line', () => {
  it.each(COMMANDS)('%s shows examples last', async (name) => {
    const { code, stdout } = await runInProcess([name, '--help'])
    expect(code).toBe(0)
    const [, examples = ''] = stdout.split('\nExamples:\n')
    const lines = examples.trimEnd().split('\n')
    expect(lines.length).toBeGreaterThan(0)
    for (const line of lines) expect(line).toContain(`scriptify ${name}`)
  })

  it('shows ten options of install, and says how to see all', async () => {
    const [few, all] = [
      await runInProcess(['install', '--help']),
      await runInProcess(['install', '--help-all']),
    ]
    const countOptions = (help: string) => help.match(/^ {2}(-\w, )?--/gm)?.length
    expect([few.code, all.code]).toEqual([0, 0])
    expect(countOptions(few.stdout)).toBe(10)
    expect(few.stdout).toContain('\nAll options: scriptify install --help-all\n')
    expect(countOptions(all.stdout)).toBeGreaterThan(20)
    expect(all.stdout).toContain('--memory-max')
  })

  it('tells its version', async () => {
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8'))
    expect(await scriptify(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  })

  it.each([
    {
      why: 'an unknown command',
      args: ['terminl'],
      says: "unknown command 'terminl' (Did you mean terminal?)",
    },
    { why: 'an unknown option', args: ['terminal', '--nope'], says: "unknown option '--nope'" },
    { why: 'the version by -v', args: ['-v'], says: '(Did you mean --version?)' },
    { why: 'a shortened choice', args: ['install', 'x', '-t', 'cron'], says: '(Did you mean crond?)' },
    {
      why: 'an argument without --arg',
      args: ['run', 'A::b', 'c'],
      says: 'give each of the method with --arg',
    },
    {
      why: 'a class without --class',
      args: ['install', 'x', 'A::b'],
      says: 'name the method by --class',
    },
    {
      why: 'a file for a terminal',
      args: ['terminal', import.meta.filename],
      says: `run it by scriptify terminal < ${import.meta.filename}`,
    },
    { why: 'a missing value', args: ['terminal', '--env'], says: 'argument missing' },
    { why: 'a word too many', args: ['terminal', 'one', 'two'], says: 'too many arguments' },
    { why: 'a choice that is none', args: ['terminal', '--runtime', 'perl'], says: 'php, node' },
  ])('refuses $why in one line with 2', async ({ args, says }) => {
    const { code, stdout, stderr } = await runInProcess(args)
    expect({ code, stdout, lines: stderr.trim().split('\n').length }).toEqual({
      code: 2,
      stdout: '',
      lines: 1,
    })
    expect(stderr).toContain(says)
  })

  it('writes to the streams that it is given', async () => {
    const root = mkdtempSync(join(tmpdir(), 'scriptify-root-'))
    const listed = await runInProcess(['services', '--root', root])
    expect(listed).toEqual({ code: 0, stdout: 'No service is installed\n', stderr: '' })
    expect((await runInProcess(['completion', 'bash'])).stdout).toContain('complete')
  })

  it.each([
    ['status', false],
    ['logs', false],
    ['services', false],
    ['run', true],
  ])('%s takes the time zone of its caller: %s', async (command, takes) => {
    const env = { TZ: 'Asia/Tokyo' }
    await runInProcess([command, '--help'], { env })
    expect('TZ' in env).toBe(takes)
  })

  it('shows what there is when nothing is asked for', async () => {
    const { code, stderr } = await runInProcess([])
    expect(code).toBe(2)
    expect(stderr).toContain('Usage: scriptify')
  })

  it.each([{ args: ['--help'] }, { args: ['run', '--help'] }, { args: ['services'] }])(
    'ends without a word when the reader of $args has left',
    async ({ args }) => {
      const child = spawn(process.execPath, [LAUNCHER, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
      child.stdout.destroy()
      const said = text(child.stderr)
      expect([await once(child, 'exit'), await said]).toEqual([[141, null], ''])
    },
  )

  it.each([
    { args: ['nope'], code: 2 },
    { args: ['run', 'nope'], code: 3 },
    { args: ['endpoint', 'GET', 'http://127.0.0.1:1/'], code: 7 },
  ])('ends with $code when nobody reads the errors of $args', async ({ args, code }) => {
    const child = spawn(process.execPath, [LAUNCHER, ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
    child.stderr.destroy()
    expect(await once(child, 'exit')).toEqual([code, null])
  })

  it.each(['--help', 'services'])('fails in one line when %s cannot be written', async (word) => {
    const words = ['-c', '"$0" "$@" > /dev/full', process.execPath, LAUNCHER, word]
    const child = spawn('sh', words, { stdio: ['ignore', 'ignore', 'pipe'] })
    const said = text(child.stderr)
    expect([await once(child, 'exit'), await said]).toEqual([
      [1, null],
      'ENOSPC: no space left on device, write\n',
    ])
  })

  it('says what it did not expect in one line, and where only when asked', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'scriptify-cli-'))
    const failing = join(folder, 'failing.ts')
    writeFileSync(
      failing,
      `import { Command } from ${JSON.stringify(import.meta.resolve('commander'))}
       import { runCli } from ${JSON.stringify(new URL('../src/cli/run-cli.ts', import.meta.url).href)}
       const program = new Command('x').action(() => { throw new TypeError('first\\n  second') })
       process.exitCode = await runCli(program, process.argv)`,
    )
    expect(await scriptify([], { launcher: failing })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'first second\n',
    })
    const { code, stderr } = await scriptify([], { launcher: failing, env: { SCRIPTIFY_DEBUG: '1' } })
    expect(code).toBe(1)
    expect(stderr).toMatch(/TypeError: first\n {2}second\n {4}at /)
  })
})

it('shows any user what an uninstall would remove', async () => {
  const root = mkdtempSync(join(tmpdir(), 'scriptify-root-'))
  chmodSync(root, 0o755)
  const mark = '# scriptify: managed service=importer template=systemd v=1\n'
  for (const file of ['etc/systemd/system/importer.service', 'etc/scriptify/importer.env']) {
    mkdirSync(join(root, file, '..'), { recursive: true })
    writeFileSync(join(root, file), mark)
  }
  // As for another user than root, whether root runs this test or not.
  chmodSync(join(root, 'etc/scriptify/importer.env'), process.geteuid?.() === 0 ? 0o600 : 0)
  const options = { name: 'importer', root, systems: INIT_SYSTEMS }
  await asAnotherUser(async () => {
    expect((await uninstallService({ ...options, dryRun: true })).join('\n')).toContain('importer.env')
    await expect(uninstallService({ ...options, dryRun: false })).rejects.toMatchObject({ exitCode: 4 })
  })
})

async function asAnotherUser(act: () => Promise<void>): Promise<void> {
  if (process.geteuid?.() !== 0) return act()
  process.seteuid?.(65_534)
  try {
    await act()
  } finally {
    process.seteuid?.(0)
  }
}

describe.concurrent('the launcher', () => {
  it('works through a link', async () => {
    const link = join(mkdtempSync(join(tmpdir(), 'scriptify-link-')), 'scriptify')
    symlinkSync(LAUNCHER, link)
    expect((await scriptify(['--version'], { launcher: link })).code).toBe(0)
  })

  it('reads the options that Node has too', async () => {
    const words = ['run', 'src/probe.ts#greet', '--env-file']
    const ended = new Promise((resolve) => {
      execFile(
        LAUNCHER,
        [...words, '/nonexistent'],
        { env: { PATH: process.env.PATH } },
        (error, stdout, stderr) => resolve({ code: error?.code, stdout, stderr }),
      )
    })
    expect(await ended).toEqual({
      ...{ code: 3, stdout: '', stderr: '--env-file /nonexistent is not a file that can be read\n' },
    })
  })

  it('says in one line that Node is too old', async () => {
    const old = join(mkdtempSync(join(tmpdir(), 'scriptify-old-')), 'old.cjs')
    const launcher = readFileSync(LAUNCHER, 'utf8').split('\n').slice(1).join('\n')
    writeFileSync(old, `Object.defineProperty(process.versions, 'node', { value: '18.19.0' })\n${launcher}`)
    const { code, stdout, stderr } = await scriptify(['--version'], { launcher: old })
    expect({ code, stdout }).toEqual({ code: 5, stdout: '' })
    expect(stderr).toMatch(/^scriptify needs Node 24 or newer, and this is 18\.19\.0 .*\n$/)
  })
})
