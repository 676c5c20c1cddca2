import { spawnSync } from 'node:child_process'
import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isInstalled } from '@latchkey/test-support/installed-program.ts'
import { describe, expect, it } from 'vitest'
import { aService } from '../../../test/services/a-service.ts'
import type { InitSystem } from '../init-system.ts'
import { INIT_SYSTEMS } from '../init-systems.ts'
import type { Service } from '../service.ts'
import { crond } from '../systems/crond.ts'
import { initd } from '../systems/initd.ts'
import { systemd } from '../systems/systemd.ts'
import { upstart } from '../systems/upstart.ts'
import { renderService } from './render-service.ts'

const aHostileService = (changes: Partial<Service> = {}): Service =>
  aService({
    description: 'Importa "tudo": 100 % é $seu \\o/',
    command: ['/usr/bin/php8.4', '/srv/call.php', '', "it's", 'two\nlines', '100 % $HOME `id` "x" \\'],
    rootdir: "/srv/it's 100 %",
    environment: { PLAIN: 'x', HARD: ' $HOME `id` "x" \\\nnext' },
    ...changes,
  })

/** A user changes the launcher of these, and how a script of SysV finds the process. */
const LAUNCHED: readonly InitSystem[] = [upstart, initd, crond]
/** The program that reads the environment file, the same in each launcher; launcher.test.ts runs it. */
const READER = /^function add\([\s\S]*?^\}(?=')/m

describe('renderService', () => {
  it.each(INIT_SYSTEMS)('writes the files of $name', async (system) => {
    await expect(await describeFiles(system)).toMatchFileSnapshot(`../../../test/golden/${system.name}.txt`)
  })

  it('writes the unit of systemd for a user', async () => {
    await expect(
      await describeFiles(systemd, { user: 'app', interval: undefined, after: ['mysql.service'] }),
    ).toMatchFileSnapshot('../../../test/golden/systemd-user.txt')
  })

  it('writes the script of SysV for a method that is called once, and for an order', async () => {
    const changed = await describeFiles(initd, { interval: undefined, after: ['mysql.service'] })
    expect(changed).toBe(
      (await describeFiles(initd))
        .replace('$time $syslog', '$time $syslog mysql')
        .replace(/return 1(?=\n\})/, 'return 0'),
    )
  })

  it.each(LAUNCHED)('has only the launcher of $name become a user', async (system) => {
    const becomesUser = `# Only root may read the files used here, so just the program runs as the service's user.
set -- "$(command -v setpriv)" --reuid='app' --regid="$(id -g 'app')" --init-groups -- "$@"
HOME="$(getent passwd 'app' | cut -d: -f6)" USER='app' LOGNAME='app'
export HOME USER LOGNAME
`
    const forRoot = await describeFiles(system)
    expect(await describeFiles(system, { user: 'app' })).toBe(
      forRoot
        .replace('export PATH\n', () => `export PATH\n${becomesUser}`)
        .replaceAll("--exec '/usr/bin/php8.4'", "--user 'app'"),
    )
  })

  it.each(INIT_SYSTEMS.filter((system) => system !== systemd))(
    'has only the launcher of $name become a group, and sets no limit there',
    async (system) => {
      const forUser = await describeFiles(system, { user: 'app' })
      const changes = { user: 'app', group: 'www-data', hardened: false, memoryMax: '512M' }
      expect(await describeFiles(system, changes)).toBe(
        forUser.replace(`--regid="$(id -g 'app')"`, "--regid='www-data'"),
      )
    },
  )

  it('writes the unit of systemd for a group, with no other limit than on memory, and an order', async () => {
    const limits = { user: 'app', group: 'www-data', hardened: false, memoryMax: '512M' }
    const order = { restart: 'always' as const, after: ['postgresql', 'remote-fs.target'] }
    await expect(await describeFiles(systemd, { ...limits, ...order })).toMatchFileSnapshot(
      '../../../test/golden/systemd-group.txt',
    )
  })

  it('writes a timer of systemd', async () => {
    await expect(await describeFiles(systemd, { schedule: '0 0 13 * 5' })).toMatchFileSnapshot(
      '../../../test/golden/systemd-timer.txt',
    )
  })

  it.skipIf(!isInstalled('shellcheck', { requiredBy: 'REQUIRE_PROGRAMS' })).each(INIT_SYSTEMS)(
    'writes shell for $name in which ShellCheck finds nothing',
    async (system) => {
      const limits = {
        user: 'app',
        group: 'www-data',
        schedule: system === crond ? '*/5 * * * *' : undefined,
      }
      for (const changes of [{ schedule: limits.schedule }, limits]) {
        const files = await renderService(aHostileService(changes), system)
        for (const { path, content } of files.filter((file) => file.content.startsWith('#!')))
          expect(spawnSync('shellcheck', ['-'], { input: content, encoding: 'utf8' }).stdout, path).toBe('')
      }
    },
  )

  it.each(['\ufdd0', '\u{1ffff}'])(
    'passes %j to a shell, and refuses it for systemd, which would drop it',
    async (value) => {
      const environment = { A: value }
      await expect(renderService(aService({ environment }), systemd)).rejects.toMatchObject({
        exitCode: 2,
        message: expect.stringMatching(/^--env A: systemd drops a value with a Unicode noncharacter/),
      })
      const [file] = await renderService(aService({ environment }), crond)
      expect(file?.content).toContain(`A="${value}"`)
    },
  )

  it('writes no line that systemd would not read', async () => {
    const command = ['/usr/bin/php8.4', ...Array.from({ length: 10 }, () => '%'.repeat(60_000))] as const
    await expect(renderService(aService({ command }), systemd)).rejects.toThrow('over 1 MiB')
    expect(await renderService(aService({ command }), crond)).toHaveLength(4)
  })

  it.each([
    {
      why: 'a variable that does not exist',
      template: '{{mark}}\n{{nmae}}',
      says: /runit: "nmae" not defined/,
    },
    {
      why: 'no mark',
      template: '{{name}}',
      says: /runit does not have \{\{mark\}\} in its first three lines/,
    },
    { why: 'a late mark', template: '1\n2\n3\n{{mark}}', says: /first three lines/ },
    { why: 'no file', template: undefined, says: /ENOENT.*runit/ },
  ])('names a template with $why', async ({ template, says }) => {
    await using dir = await mkdtempDisposable(join(tmpdir(), 'templates-'))
    const path = join(dir.path, 'runit')
    if (template !== undefined) await writeFile(path, template)
    const system = { ...systemd, template: path }
    await expect(renderService(aService(), system)).rejects.toThrow(says)
  })

  it.each(INIT_SYSTEMS)(
    'lets only root read secrets, and everybody the file that $name reads',
    async (system) => {
      const files = await renderService(aHostileService({ user: 'app' }), system)
      const secret = files.filter(({ path }) => path.startsWith('/etc/scriptify/'))
      expect(secret.every(({ mode }) => (mode & 0o077) === 0)).toBe(true)
      expect(files.filter(({ content }) => content.includes('PLAIN=')).map(({ path }) => path)).toEqual([
        '/etc/scriptify/importer.env',
      ])
    },
  )
})

async function describeFiles(system: InitSystem, changes: Partial<Service> = {}): Promise<string> {
  const schedule = system === crond ? '*/5 * * * *' : undefined
  const files = await renderService(aHostileService({ schedule, ...changes }), system)
  return files
    .map(({ path, mode, content }) => `==> ${path} ${mode.toString(8)}\n${content.replace(READER, '…')}`)
    .join('\n')
}
