import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { InitSystem } from '../init-system.ts'
import { INIT_SYSTEMS } from '../init-systems.ts'
import type { ServiceDefinition } from '../service-definition.ts'
import { crond } from '../systems/crond.ts'
import { systemd } from '../systems/systemd.ts'
import { upstart } from '../systems/upstart.ts'
import { renderService } from './render-service.ts'

/** What systemd can do depends on this machine, except for a service of another. */
const ELSEWHERE = '/elsewhere'

const aService = (changes: Partial<ServiceDefinition> = {}): ServiceDefinition => ({
  name: 'importer',
  description: 'Importa "tudo": 100 % é $seu \\o/',
  command: ['/usr/bin/php8.4', '/srv/call.php', '', "it's", 'two\nlines', '100 % $HOME `id` "x" \\'],
  possiblePaths: [],
  daemon: true,
  rootdir: "/srv/it's 100 %",
  user: undefined,
  group: undefined,
  environment: { PLAIN: 'x', HARD: ' $HOME `id` "x" \\\nnext' },
  schedule: undefined,
  hardened: true,
  privateTmp: true,
  memoryMax: undefined,
  ...changes,
})

/** Of these a user changes the launcher alone. */
const LAUNCHED: readonly InitSystem[] = [upstart, crond]

describe('renderService', () => {
  it.each(INIT_SYSTEMS)('writes the files of $name', async (system) => {
    await expect(await describeFiles(system)).toMatchFileSnapshot(`../../../test/golden/${system.name}.txt`)
  })

  it.each(INIT_SYSTEMS.filter((system) => !LAUNCHED.includes(system)))(
    'writes the files of $name for a user',
    async (system) => {
      await expect(
        await describeFiles(system, { user: 'app', privateTmp: false, daemon: false }),
      ).toMatchFileSnapshot(`../../../test/golden/${system.name}-user.txt`)
    },
  )

  it.each(LAUNCHED)('has only the launcher of $name become a user', async (system) => {
    const becomesUser = `# Only root may read the files used here, so just the program runs as the service's user.
set -- "$(command -v setpriv)" --reuid='app' --regid="$(id -g 'app')" --init-groups -- "$@"
HOME="$(getent passwd 'app' | cut -d: -f6)" USER='app' LOGNAME='app'
export HOME USER LOGNAME
`
    const forRoot = withoutDigests(await describeFiles(system))
    expect(withoutDigests(await describeFiles(system, { user: 'app', privateTmp: false }))).toBe(
      forRoot.replace('export PATH\n', () => `export PATH\n${becomesUser}`),
    )
  })

  it.each(INIT_SYSTEMS.filter((system) => system !== systemd))(
    'has only the launcher of $name become a group, and sets no limit there',
    async (system) => {
      const forUser = withoutDigests(await describeFiles(system, { user: 'app' }))
      const changes = { user: 'app', group: 'www-data', hardened: false, memoryMax: '512M' }
      expect(withoutDigests(await describeFiles(system, changes))).toBe(
        forUser.replace(`--regid="$(id -g 'app')"`, "--regid='www-data'"),
      )
    },
  )

  it('writes the unit of systemd for a group, with no other limit than on memory', async () => {
    const changes = { user: 'app', group: 'www-data', hardened: false, memoryMax: '512M' }
    await expect(await describeFiles(systemd, changes)).toMatchFileSnapshot(
      '../../../test/golden/systemd-group.txt',
    )
  })

  it('writes a timer of systemd', async () => {
    await expect(await describeFiles(systemd, { schedule: '0 0 13 * 5' })).toMatchFileSnapshot(
      '../../../test/golden/systemd-timer.txt',
    )
  })

  it.each(['\ufdd0', '\u{1ffff}'])(
    'passes %j to a shell, and refuses it for systemd, which would drop it',
    async (value) => {
      const service = aService({ environment: { A: value } })
      await expect(renderService(service, { system: systemd, root: ELSEWHERE })).rejects.toMatchObject({
        exitCode: 2,
        message: expect.stringMatching(/^--env A: systemd drops a value with a Unicode noncharacter/),
      })
      const [environment] = await renderService(service, { system: crond, root: ELSEWHERE })
      expect(environment?.content).toContain(`A="${value}"`)
    },
  )

  it('writes no line that systemd would not read', async () => {
    const command = ['/usr/bin/php8.4', ...Array.from({ length: 10 }, () => '%'.repeat(60_000))] as const
    const service = aService({ command })
    await expect(renderService(service, { system: systemd, root: ELSEWHERE })).rejects.toThrow('over 1 MiB')
    expect(await renderService(service, { system: crond, root: ELSEWHERE })).toHaveLength(4)
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
    await expect(renderService(aService(), { system, root: ELSEWHERE })).rejects.toThrow(says)
  })

  it.each(INIT_SYSTEMS)(
    'lets only root read secrets, and everybody the file that $name reads',
    async (system) => {
      const files = await renderService(aService({ user: 'app' }), { system, root: ELSEWHERE })
      const secret = files.filter(({ path }) => path.startsWith('/etc/scriptify/'))
      expect(secret.every(({ mode }) => (mode & 0o077) === 0)).toBe(true)
      expect(files.filter(({ content }) => content.includes('PLAIN=')).map(({ path }) => path)).toEqual([
        '/etc/scriptify/importer.env',
      ])
    },
  )
})

async function describeFiles(system: InitSystem, changes: Partial<ServiceDefinition> = {}): Promise<string> {
  const schedule = system === crond ? '*/5 * * * *' : undefined
  const files = await renderService(aService({ schedule, ...changes }), { system, root: ELSEWHERE })
  return files.map(({ path, mode, content }) => `==> ${path} ${mode.toString(8)}\n${content}`).join('\n')
}

/** The digests of the files follow from these. */
const withoutDigests = (files: string) => files.replace(/^# scriptify: installed with .*\n/m, '')
