import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempDisposableSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { INIT_SYSTEMS } from '../../src/services/init-systems.ts'
import { runInProcess } from '../run-in-process.ts'

const HOME = '/opt/latchkey/services/scriptify'
const FILES = {
  [`${HOME}/bin/scriptify`]: '',
  [`${HOME}/src/run/node/call-method.ts`]: '',
  '/usr/bin/node': '',
  '/etc/passwd': 'root:x:0:0::/root:/bin/sh\napp:x:65534:65534::/home/app:/bin/sh\n',
  '/etc/group': 'daemon:x:1:\n',
  '/srv/shop/src/probe.ts':
    'export class Probe {\n  record(...args: string[]): void {}\n  needy(): void {}\n}\n',
}
const FOLDERS = ['/etc/systemd/system', '/etc/init', '/etc/init.d', '/etc/cron.d', '/usr/local/bin']
const ENVIRONMENT = '/etc/scriptify/probe.env'
const UNIT = '/etc/systemd/system/probe.service'
const MARK = '# scriptify: managed service=probe template=crond v=1\n'

/** A host whose files are mounted in a folder: an installation there runs no program of an init system. */
function aHost() {
  const folder = mkdtempDisposableSync(join(tmpdir(), 'scriptify-install-'))
  const root = folder.path
  // The account of a service looks for its class there.
  chmodSync(root, 0o755)
  for (const path of FOLDERS) mkdirSync(join(root, path), { recursive: true })
  const write = (path: string, content: string) => {
    mkdirSync(join(root, dirname(path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  for (const [path, content] of Object.entries(FILES)) write(path, content)
  symlinkSync(`${HOME}/bin/scriptify`, join(root, '/usr/local/bin/scriptify'))
  const scriptify = (command: string, ...words: string[]) =>
    runInProcess([command, '--root', root, ...words], { env: process.env })
  return {
    root,
    write,
    scriptify,
    read: (path: string) =>
      existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : undefined,
    install: (template: string, ...words: string[]) =>
      scriptify(
        ...(['install', 'probe', '--template', template, '--rootdir', '/srv/shop'] as const),
        ...['--class', 'src/probe.ts#Probe::record', ...words],
      ),
    /** Every path with its content. */
    everything: () =>
      readdirSync(root, { recursive: true, encoding: 'utf8' })
        .sort()
        .map((path) => [
          path,
          lstatSync(join(root, path)).isFile() && readFileSync(join(root, path), 'utf8'),
        ]),
    [Symbol.dispose]: () => folder.remove(),
  }
}

const TEMPLATES = INIT_SYSTEMS.map(({ name }) => name)

describe('an installation', () => {
  it.each([
    { template: 'systemd', path: UNIT },
    { template: 'upstart', path: '/etc/init/probe.conf' },
    { template: 'initd', path: '/etc/init.d/probe' },
    { template: 'crond', path: '/etc/cron.d/probe' },
    { template: 'systemd', path: ENVIRONMENT },
    { template: 'crond', path: '/etc/scriptify/probe.run' },
  ])('leaves $path of somebody else alone, whatever is asked', async ({ template, path }) => {
    using host = aHost()
    host.write(path, 'theirs')
    const refused = { code: 4, stdout: '', stderr: expect.stringContaining(path) }
    expect(await host.install(template, '--dry-run')).toMatchObject(refused)
    expect(await host.install(template, '--dry-run', '--force', '--user', 'app')).toMatchObject(refused)
    expect(await host.scriptify('uninstall', 'probe', '--dry-run')).toMatchObject(refused)
  })

  it.each(['service', 'timer', 'socket', 'path'])(
    'takes no name of a %s of the distribution',
    async (kind) => {
      using host = aHost()
      const path = `/usr/lib/systemd/system/probe.${kind}`
      host.write(path, 'theirs')
      for (const template of TEMPLATES)
        expect(await host.install(template, '--dry-run', '--force')).toEqual({
          code: 4,
          stdout: '',
          stderr: `${host.root}${path} is a service probe that scriptify did not install: choose another name\n`,
        })
    },
  )

  it('writes through no link, neither of a file nor of a folder', async () => {
    using host = aHost()
    host.write('/srv/victim', 'theirs')
    symlinkSync(join(host.root, '/srv/victim'), join(host.root, '/etc/cron.d/probe'))
    expect((await host.install('crond', '--dry-run', '--force')).code).toBe(4)
    symlinkSync(join(host.root, '/srv'), join(host.root, '/etc/scriptify'))
    expect(await host.install('systemd', '--dry-run')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('/etc/scriptify is a link or not a folder'),
    })
  })

  it.each([
    { why: 'a missing root', words: ['--root', '/nothing'], code: 3 },
    { why: 'an unknown class', words: ['--class', 'src/probe.ts#Nothing::record'], code: 3 },
    { why: 'an unknown method', words: ['--class', 'src/probe.ts#Probe::nothing'], code: 3 },
    { why: 'an unknown module', words: ['--class', 'src/nothing.ts#Probe::record'], code: 3 },
    {
      why: 'an argument too many',
      words: ['--class', 'src/probe.ts#Probe::needy', '--arg', 'more'],
      code: 2,
    },
    { why: 'a module outside of its folder', words: ['--class', '/etc/passwd#Probe::record'], code: 4 },
    { why: 'a missing folder', words: ['--rootdir', '/srv/nothing'], code: 3 },
    { why: 'a missing bootstrap', words: ['--bootstrap', 'nothing.ts'], code: 3 },
    { why: 'an unknown user', words: ['--user', 'nobody-here'], code: 3 },
    { why: 'an unknown group', words: ['--user', 'app', '--group', 'nobody-here'], code: 3 },
    { why: 'a name over two lines', words: ['other\nname'], code: 2 },
    { why: 'an argument that systemd could not show', words: ['--arg', 'a\uffff'], code: 2 },
    { why: 'an interval that run would not take', words: ['--interval', '100000'], code: 2 },
    { why: 'to start on another host', words: ['--start'], code: 2 },
  ])('refuses $why with $code, in one line', async ({ words, code }) => {
    using host = aHost()
    const { stderr, ...ended } = await host.install('systemd', '--dry-run', ...words)
    expect(ended).toEqual({ code, stdout: '' })
    expect(stderr.trimEnd().replace(/\n\(see --help\)$/, '')).toMatch(/^[^\n]+$/)
  })

  it('refuses a folder that a service with its own /tmp does not see', async () => {
    using host = aHost()
    host.write('/tmp/shop/src/probe.ts', FILES['/srv/shop/src/probe.ts'])
    expect(await host.install('systemd', '--dry-run', '--rootdir', '/tmp/shop')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('cannot see /tmp/shop: move it, or add --no-hardening'),
    })
    expect(
      (await host.install('systemd', '--dry-run', '--rootdir', '/tmp/shop', '--no-hardening')).code,
    ).toBe(0)
  })

  it('shows what it would do without the values of variables, and does nothing', async () => {
    using host = aHost()
    const before = host.everything()
    const { code, stdout } = await host.install('crond', '--env', 'PASSWORD=hush', '--dry-run')
    expect(code).toBe(0)
    expect(stdout).toContain(`==> ${host.root}/etc/cron.d/probe (mode 0644)\n`)
    expect(stdout).toContain('PASSWORD="…"')
    expect(stdout).not.toContain('hush')
    expect(host.everything()).toEqual(before)
  })
})

// Only root installs.
describe.runIf(process.getuid?.() === 0)('an installed service', () => {
  it.each(TEMPLATES)('of %s is listed, and leaves nothing', async (template) => {
    using host = aHost()
    const before = host.everything()
    expect(await host.install(template, '--env', 'A=1')).toMatchObject({ code: 0, stderr: '' })
    expect((await host.scriptify('services', '--only-names')).stdout).toBe('probe\n')
    expect((await host.scriptify('services')).stdout).toMatch(RegExp(`^probe +${template} +unknown +- `, 'm'))
    expect((await host.install(template)).stderr).toMatch(/already installed .*: --force replaces it\n$/)
    const [other = ''] = TEMPLATES.filter((each) => each !== template)
    expect((await host.install(other, '--force')).stderr).toMatch(
      /is installed for \w+: uninstall it first\n$/,
    )
    expect(await host.scriptify('uninstall', 'probe')).toMatchObject({ code: 0, stderr: '' })
    expect(host.everything()).toEqual(before)
    expect((await host.scriptify('uninstall', 'probe')).code).toBe(3)
  })

  it('keeps the options that are not given again, but not those of one that changed', async () => {
    using host = aHost()
    const words = [
      '--user',
      'app',
      '--group',
      'daemon',
      '--memory-max',
      '512M',
      '--interval',
      '7',
      '--arg',
      'one',
    ]
    expect((await host.install('systemd', ...words, '--after', 'mysql', '--restart', 'always')).code).toBe(0)
    const before = host.read(UNIT)
    expect(before).toMatch(/After=network-online.target mysql.service\n[\s\S]*User=app\nGroup=daemon\n/)
    const again = (...more: string[]) => host.scriptify('install', 'probe', '--force', ...more)
    expect(await again()).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^Kept: --rootdir, --class, --user, --group, --memory-max, --interval, --after, --restart, --arg$/m,
      ),
    })
    expect(host.read(UNIT)).toBe(before)
    expect((await again('--user', 'root')).code).toBe(0)
    expect(host.read(UNIT)).not.toMatch(/^(User|Group)=/m)
    expect((await again('--class', 'src/probe.ts#Probe::needy')).code).toBe(0)
    expect(host.read(UNIT)).toMatch(/needy[^\n]*"interval\\":7[^\n]*\}"\n/)

    // As it was installed by an earlier version.
    host.write(ENVIRONMENT, (host.read(ENVIRONMENT) ?? '').replace(/^.*installed with.*\n/m, ''))
    expect(await again('--class', 'src/probe.ts#Probe::needy')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--force and all its options, --user too'),
    })
    expect((await host.install('systemd', '--force', '--user', 'app', '--schedule', '@daily')).stderr).toBe(
      'probe is installed without a schedule: uninstall it first\n',
    )
    expect((await host.install('systemd', '--force', '--user', 'app')).code).toBe(0)
  })

  it('names what cannot change before any option that it keeps', async () => {
    using host = aHost()
    expect((await host.install('systemd', '--interval', '7', '--restart', 'no')).code).toBe(0)
    const force = (...more: string[]) => host.scriptify('install', 'probe', '--force', ...more)
    const refused = (how: string) => ({
      code: 2,
      stdout: '',
      stderr: `probe is installed ${how}: uninstall it first\n`,
    })
    expect(await force('--schedule', '@daily')).toEqual(refused('without a schedule'))
    for (const template of TEMPLATES.filter((each) => each !== 'systemd'))
      expect(await force('--template', template)).toEqual(refused('for systemd'))
  })

  it('keeps the variables that an admin added, and the mode, and refuses a line that would be ignored', async () => {
    using host = aHost()
    expect((await host.install('crond', '--env', 'GIVEN=one', '--env', 'CHANGED=one')).code).toBe(0)
    const text = host.read(ENVIRONMENT) ?? ''
    const [mark, record] = text.split('\n')
    host.write(ENVIRONMENT, `${text}# rotated in May: hush\r\nTOKEN=hush hush\n`)
    chmodSync(join(host.root, ENVIRONMENT), 0o640)
    const again = (...more: string[]) => host.scriptify('install', 'probe', '--force', ...more)
    const { stdout } = await again('--env', 'CHANGED=two', '--env', 'ADDED=1')
    expect(stdout).toMatch(/^Kept: .*GIVEN, TOKEN$/m)
    expect(stdout).not.toContain('hush')
    const kept = 'GIVEN="one"\nCHANGED="two"\n# rotated in May: hush\r\nTOKEN=hush hush\nADDED="1"\n'
    expect(host.read(ENVIRONMENT)).toBe(`${mark}\n${record}\n${kept}`)
    expect(statSync(join(host.root, ENVIRONMENT)).mode & 0o777).toBe(0o640)

    for (const line of ['export A=hush', '\uFEFFA=hush', 'A="hush']) {
      host.write(ENVIRONMENT, `${mark}\n${record}\n${line}\n`)
      const refused = await again('--env', 'B=1')
      expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(`Line 3 of ${host.root}`) })
      expect(refused.stderr).not.toContain('hush')
    }
    // An editor may do this to the whole file.
    host.write(ENVIRONMENT, `\uFEFF${mark}\r\n${record}\r\nA=1\r\n`)
    expect((await again()).stdout).toMatch(/^Kept: .*, A$/m)
    expect(host.read(ENVIRONMENT)).toBe(`${mark}\n${record}\nA=1\n`)
  })

  it('is not removed when one of its files, or its unit, is not scriptify’s any more', async () => {
    using host = aHost()
    expect((await host.install('crond')).code).toBe(0)
    const [unit = '', environment = ''] = [host.read('/etc/cron.d/probe'), host.read(ENVIRONMENT)]
    host.write(ENVIRONMENT, 'THEIRS=1')
    expect((await host.scriptify('uninstall', 'probe')).code).toBe(4)
    expect(host.read('/etc/cron.d/probe')).toBe(unit)
    host.write(ENVIRONMENT, environment)

    host.write('/etc/cron.d/probe', '0 4 * * * root /etc/scriptify/probe.run')
    const lost = { code: 4, stderr: expect.stringContaining('has lost its line "# scriptify: managed') }
    expect(await host.scriptify('uninstall', 'probe')).toMatchObject(lost)
    expect(await host.install('crond', '--force')).toMatchObject(lost)
    expect(host.read(ENVIRONMENT)).toBe(environment)
  })

  it('is not what a copy of its unit under another name is', async () => {
    using host = aHost()
    host.write('/etc/cron.d/copy', MARK)
    expect((await host.scriptify('uninstall', 'copy')).code).toBe(4)
    expect((await host.scriptify('services')).stdout).toBe('No service is installed\n')
  })

  it('leaves a timer, and its stamp, that scriptify did not write', async () => {
    using host = aHost()
    const [timer, stamp] = ['/etc/systemd/system/probe.timer', '/var/lib/systemd/timers/stamp-probe.timer']
    host.write(timer, 'theirs')
    host.write(stamp, '')
    expect((await host.install('systemd', '--schedule', '@daily')).stderr).toContain(
      'was not written by scriptify',
    )
    expect((await host.install('systemd')).code).toBe(0)
    expect((await host.scriptify('uninstall', 'probe')).code).toBe(0)
    expect([host.read(timer), host.read(stamp)]).toEqual(['theirs', ''])
  })
})
