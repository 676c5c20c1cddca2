import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempDisposableSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitFor } from '@latchkey/test-support/wait-for.ts'
import { describe, expect, it } from 'vitest'
import { parseEnvFile } from '../../src/services/env-file.ts'
import { renderService } from '../../src/services/install/render-service.ts'
import { crond } from '../../src/services/systems/crond.ts'
import { initd } from '../../src/services/systems/initd.ts'
import { upstart } from '../../src/services/systems/upstart.ts'
import { aService } from './a-service.ts'

const SYSTEMS = [crond, initd, upstart]
/** The account without rights that every system has. */
const NOBODY = 65_534
/** The folders of a host that a launcher uses. */
const FOLDERS = /\/(?:etc\/scriptify|run|var\/log)\//g

/** Runs the launcher of a service as its init system does, with the folders of the host below a temporary one. */
async function launch(
  system: (typeof SYSTEMS)[number],
  {
    user,
    environment,
    line = '',
    program,
  }: { user?: string; environment: Record<string, string>; line?: string; program?: string },
) {
  const folder = mkdtempDisposableSync(join(tmpdir(), 'scriptify-launcher-'))
  const { path } = folder
  // Each program that reads the variables of the dynamic loader leaves a file of its account here.
  const [loaded, result] = [join(path, 'loaded'), join(path, 'result')]
  for (const each of [path, loaded, result]) {
    mkdirSync(each, { recursive: true })
    chmodSync(each, 0o777)
  }
  const below = (text: string) => text.replaceAll(FOLDERS, (found) => `${path}${found}`)
  const files = await renderService(
    aService({
      ...{ name: 'probe', root: '/', user },
      command: [
        program ?? '/bin/sh',
        '-c',
        `env -0 > ${result}/draft && mv ${result}/draft ${result}/environment`,
      ],
      interval: undefined,
      rootdir: result,
      environment: { ...environment, LD_DEBUG: 'libs', LD_DEBUG_OUTPUT: join(loaded, 'program') },
      schedule: system === crond ? '@daily' : undefined,
    }),
    system,
  )
  for (const file of files) {
    const target = below(file.path)
    if (target === file.path) continue
    mkdirSync(join(target, '..'), { recursive: true })
    writeFileSync(target, below(file.content) + (target.endsWith('.env') ? line : ''), { mode: file.mode })
  }
  for (const each of ['run', 'var/log']) mkdirSync(join(path, each), { recursive: true })
  const { status, stdout } = spawnSync(join(path, 'etc/scriptify/probe.run'), {
    encoding: 'utf8',
    env: { PATH: '/usr/bin:/bin' },
  })
  const log = join(path, 'var/log/scriptify-probe.log')
  const written = () => (existsSync(log) ? readFileSync(log, 'utf8') : stdout)
  const isOver = () => (program ? written().includes('\n') : readdirSync(result).includes('environment'))
  await waitFor(isOver, { timeoutMs: 10_000, lastSeen: written })
  const environmentFile = join(result, 'environment')
  if (program) writeFileSync(environmentFile, '')
  return {
    status,
    written: written(),
    seen: parseEnvironment(readFileSync(environmentFile, 'utf8')),
    runsAs: statSync(environmentFile).uid,
    accounts: new Set(readdirSync(loaded).map((file) => statSync(join(loaded, file)).uid)),
    folder: path,
    [Symbol.dispose]: () => folder.remove(),
  }
}

/** Reads what `env -0` prints. */
const parseEnvironment = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split('\0')
      .map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
  )

// Only root becomes another user.
describe.runIf(process.getuid?.() === 0).each(SYSTEMS)('the launcher of $name', (system) => {
  it.each([
    { variable: 'LD_LIBRARY_PATH', value: '/srv/shop/lib' },
    { variable: 'PATH', value: '/srv/shop/bin:/usr/bin:/bin' },
    { variable: 'BASH_ENV', value: '/srv/shop/env.sh' },
    { variable: 'ENV', value: '/srv/shop/env.sh' },
    { variable: 'IFS', value: '/' },
    { variable: 'LOCPATH', value: '/srv/shop/locale' },
    { variable: 'GCONV_PATH', value: '/srv/shop/gconv' },
  ])('shows $variable of a service to its own account only', async ({ variable, value }) => {
    using launched = await launch(system, { user: 'nobody', environment: { [variable]: value } })
    expect(launched.status).toBe(0)
    expect(launched.runsAs).toBe(NOBODY)
    expect([...launched.accounts]).toEqual([NOBODY])
    // The shell that tells what it sees sets IFS itself.
    if (variable !== 'IFS') expect(launched.seen).toMatchObject({ [variable]: value })
  })

  it('reads the environment file as scriptify does, and runs nothing of it', async () => {
    const lines = [
      ...[
        'A=two  words ',
        "B='it\\'$x",
        "b'",
        'C="\\$x \\`y\\` \\" \\\\ \\z"',
        'D=$(id >&2) `id >&2`',
        'E=b"c" \\ ',
      ],
      ...[
        'F="two',
        "lines, it's\\",
        'three"',
        'G=c\r',
        'export H=no',
        '\uFEFFI=no',
        '#J=no',
        ' K = é ',
        'L=id id',
      ],
      ...["M='\\'", 'N="a" b', 'O=', ' ; P=no', 'Q=a\\', 'b', 'R=last'],
    ]
    const text = `${lines.join('\n')}\n`
    using launched = await launch(system, { user: 'nobody', environment: {}, line: text })
    const { seen } = launched
    const expected = parseEnvFile(text)
    expect(Object.keys(expected)).toHaveLength(14)
    expect(Object.fromEntries(Object.keys(expected).map((name) => [name, seen[name]]))).toEqual(expected)
    expect(seen).not.toHaveProperty('H')
  })

  it.each([undefined, 'nobody'])('says in one line that its program is not there, to %s', async (user) => {
    using launched = await launch(system, { ...(user && { user }), environment: {}, program: '/nowhere/php' })
    expect(launched.status).toBe(127)
    expect(launched.written).toMatch(/^\S+ probe: 1: exec: \/nowhere\/php: not found\n$/)
  })

  it('gives a service of root its variables', async () => {
    using launched = await launch(system, { environment: { GREETING: ' $HOME `id` "x" \\' } })
    expect(launched.seen).toMatchObject({ GREETING: ' $HOME `id` "x" \\' })
    expect(launched.runsAs).toBe(0)
  })
})
