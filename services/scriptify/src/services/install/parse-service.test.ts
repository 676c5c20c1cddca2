import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EXIT } from '../../io/cli-error.ts'
import type { InitSystem } from '../init-system.ts'
import { INIT_SYSTEMS } from '../init-systems.ts'
import { crond } from '../systems/crond.ts'
import { initd } from '../systems/initd.ts'
import { systemd } from '../systems/systemd.ts'
import { upstart } from '../systems/upstart.ts'
import type { InstallOptions } from './install-options.ts'
import { type ParsedService, parseService, requirePath } from './parse-service.ts'

type Changes = Partial<InstallOptions> & { system?: InitSystem }

const parse = ({ system = systemd, ...changes }: Changes = {}): ParsedService =>
  parseService(
    { name: 'importer', root: '/', class: '\\Jobs\\Importer::work', ...changes },
    system,
    INIT_SYSTEMS,
  )

const refusal = (says: string) =>
  expect.objectContaining({ exitCode: EXIT.usage, message: expect.stringContaining(says) })

describe('parseService', () => {
  it('fills in the defaults of the init system', () => {
    expect(parse()).toEqual({
      ...{ name: 'importer', root: '/' },
      description: '\\Jobs\\Importer::work by scriptify',
      user: undefined,
      group: undefined,
      environment: {},
      schedule: undefined,
      interval: 1,
      hardened: true,
      memoryMax: undefined,
      restart: 'on-failure',
      after: [],
    })
    expect(parse({ system: crond })).toMatchObject({
      schedule: '* * * * *',
      interval: undefined,
    })
  })

  it('calls the method once for each time of a timer', () => {
    expect(parse({ schedule: ' 0  3 * * 1 ' })).toMatchObject({
      schedule: '0 3 * * 1',
      interval: undefined,
    })
  })

  it('shortens the default description at its front', () => {
    const { description } = parse({ class: `src/${'d'.repeat(210)}/importer.ts#Importer::work` })
    expect(description).toMatch(/^…d+\/importer\.ts#Importer::work by scriptify$/)
    expect(description).toHaveLength(200)
  })

  it('takes a value literally, from the first = on, and the last of two', () => {
    const { environment } = parse({ env: ['A=1', 'URL=a=b&c=%41+ "$x"\n\t', 'A=', 'É_=1'.slice(1)] })
    expect(environment).toEqual({ A: '', URL: 'a=b&c=%41+ "$x"\n\t', _: '1' })
  })

  it('reads the variables of files, which --env overrides', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'scriptify-env-'))
    const file = join(folder.path, 'some.env')
    await writeFile(file, '\uFEFFexport A=1\r\nB=two words\r\nC="x # y"\nD=1\n')
    const { environment } = parse({ envFile: [file], env: ['D=2'] })
    expect(environment).toEqual({ A: '1', B: 'two words', C: 'x # y', D: '2' })
    expect(() => parse({ envFile: [join(folder.path, 'none')] })).toThrow('is not a file that can be read')
  })

  it.each([
    ...[
      'a\nExecStartPre=/bin/id',
      'a\rb',
      'a\u2028b',
      'a\u0085b',
      '\u001b[0m',
      '',
      '   ',
      'x'.repeat(201),
      'goes on\\',
    ].map((description) => ({
      why: `the description ${JSON.stringify(description)}`,
      changes: { description },
      says: '--description',
    })),
    ...['A', '=1', '1A=1', 'A B=1', 'A-B=1', 'A\n=1', 'É=1', 'A=\u0000'].map((entry) => ({
      why: `the variable ${JSON.stringify(entry)}`,
      changes: { env: [entry] },
      says: '--env',
    })),
    ...['\u0001', '\r', '\u001b[0m', '\u007f'].map((value) => ({
      why: `the value ${JSON.stringify(value)}`,
      changes: { env: [`A=${value}`] },
      says: 'The variable A: its value contains a control character',
    })),
    {
      why: 'a description that systemd would drop',
      changes: { description: 'a\uffff' },
      says: '--description',
    },
    ...['', 'a b', 'a:b', 'a\nb', '-a', '0', 'a%i', 'a$', 'x'.repeat(33)].map((user) => ({
      why: `the user ${JSON.stringify(user)}`,
      changes: { user },
      says: '--user',
    })),
    { why: 'a class over two lines', changes: { class: 'A::b\nUser=root' }, says: '--class' },
    {
      why: 'a schedule for initd',
      changes: { system: initd, schedule: '* * * * *' },
      says: 'it is for systemd and crond',
    },
    {
      why: 'a timer that calls repeatedly',
      changes: { schedule: '@daily', daemon: true },
      says: '--daemon does not fit --schedule',
    },
    {
      why: 'an interval between two times',
      changes: { schedule: '@daily', interval: 5 },
      says: '--interval does not fit --schedule',
    },
    {
      why: 'a schedule that runs something else',
      changes: { system: crond, schedule: '* * * * * root id\n' },
      says: '--schedule',
    },
    { why: 'a daemon for cron', changes: { system: crond, daemon: true }, says: '--daemon' },
    { why: 'an interval for cron', changes: { system: crond, interval: 5 }, says: '--interval' },
    { why: 'to start a cron job', changes: { system: crond, start: true }, says: '--start' },
    { why: 'an interval for a single call', changes: { daemon: false, interval: 5 }, says: '--no-daemon' },
    { why: 'a policy for a timer', changes: { schedule: '@daily', restart: 'always' }, says: '--restart' },
    { why: 'a policy for cron', changes: { system: crond, restart: 'no' }, says: '--restart' },
    { why: 'an order for cron', changes: { system: crond, after: ['mysql'] }, says: '--after' },
    ...['', 'a b', '-a', 'a\nExecStartPre=/bin/id', 'a/b', '$x', '%i'].map((name) => ({
      why: `the order ${JSON.stringify(name)}`,
      changes: { after: [name] },
      says: '--after',
    })),
    { why: 'to enable an upstart job', changes: { system: upstart, enable: true }, says: '--enable' },
    ...['', '0', '-1', '512 M', '512MB', '50%', '1\nUser=root'].map((memoryMax) => ({
      why: `the memory ${JSON.stringify(memoryMax)}`,
      changes: { memoryMax },
      says: '--memory-max',
    })),
    {
      why: 'a memory without systemd',
      changes: { system: crond, memoryMax: '1G' },
      says: '--memory-max',
    },
    {
      why: 'no hardening without systemd',
      changes: { system: initd, hardening: false },
      says: '--no-hardening',
    },
    { why: 'a group for root', changes: { group: 'app' }, says: '--group goes with a --user' },
    { why: 'a bad group', changes: { user: 'app', group: 'a\nb' }, says: '--group' },
    { why: 'no class', changes: { class: undefined }, says: 'Which method is importer? Name it by --class' },
    {
      why: 'a name that the shell reserves',
      changes: { system: initd, env: ['OPTIND=1'] },
      says: 'The variable OPTIND',
    },
  ] as { why: string; changes: Changes; says: string }[])('refuses $why', ({ changes, says }) => {
    expect(() => parse(changes)).toThrow(refusal(says))
  })

  it('never repeats the value of a variable that it refuses', () => {
    for (const entry of ['A=secret\r', 'OPTIND=secret', 'A-B=secret', 'secret', 'A=secret\0']) {
      expect(() => parse({ system: initd, env: [entry] })).toThrow(/^(?!.*secret)/s)
    }
  })

  it('names the variable that it refuses', () => {
    expect(() => parse({ env: ['A-B=1'] })).toThrow(refusal('"A-B"'))
    expect(() => parse({ env: ['A=1', 'oops'] })).toThrow(refusal('number 2 has no ='))
  })
})

describe('requirePath', () => {
  it.each(['/srv/a b', '/srv/it\'s 100 % "x" $HOME', '/srv/é', '/srv/a\\b'])('takes %s', (path) => {
    expect(requirePath('--rootdir', path)).toBe(path)
  })

  it.each(['/srv/a\nUser=root', '/srv/a\t', '/srv/a ', '/srv/a\\', '/srv/\u2029', '/srv/a\u00a0'])(
    'refuses %j',
    (path) => {
      expect(() => requirePath('--rootdir', path)).toThrow(refusal('--rootdir'))
    },
  )
})
