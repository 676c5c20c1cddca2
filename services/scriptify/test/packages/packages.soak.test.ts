import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildDebianPackage, toDebianVersion } from '../../../../scripts/release/packages/debian-package.ts'
import { packScriptify } from '../../../../scripts/release/packages/npm-package.ts'
import manifest from '../../package.json' with { type: 'json' }
import { bootSystemd, buildMachine, type Machine } from '../services/machine.ts'
import { hasDocker, ROOT } from '../terminal-docker.ts'
import { followPage, type Language } from './follow-page.ts'

const run = promisify(execFile)
const README = 'services/scriptify/README.md'
const TUTORIAL = 'docs/tutorial/your-first-service.md'
/** The folder of the packages on a machine; nothing else of this repository is there. */
const PACKAGES = '/packages'
const NPM_HOME = '/usr/local/lib/node_modules/@latchkey/scriptify'

/** The packages of this version and of the next one, by their names. */
let folder: string
const { version: VERSION } = manifest
const NEXT = '1.0.0'

/** The commands of the README. */
const [INSTALL_NPM = '', INSTALL_DEB = ''] =
  /packages\.soak\.test\.ts -->\n```sh\n([^`]*)```/
    .exec(readFileSync(join(ROOT, README), 'utf8'))?.[1]
    ?.split('\n') ?? []

/** The commands that install and remove each package, as root. */
const INSTALLATIONS = {
  npm: {
    install: (version: string) => `npm_config_offline=true ${INSTALL_NPM.replace(VERSION, version)}`,
    remove: 'npm uninstall --global @latchkey/scriptify',
    home: NPM_HOME,
    list: 'find /usr/local/bin /usr/local/share/man',
    has: ['/usr/local/bin/scriptify', '/usr/local/share/man/man1/scriptify.1'],
  },
  deb: {
    install: (version: string) => INSTALL_DEB.replace(toDebianVersion(VERSION), toDebianVersion(version)),
    remove: 'apt-get remove --yes scriptify',
    home: '/usr/share/scriptify',
    list: 'dpkg -L scriptify',
    has: [
      '/etc/scriptify',
      '/usr/bin/scriptify',
      '/usr/share/bash-completion/completions/scriptify',
      '/usr/share/fish/vendor_completions.d/scriptify.fish',
      '/usr/share/man/man1/scriptify.1.gz',
      '/usr/share/zsh/vendor-completions/_scriptify',
    ],
  },
}

/** A package like that of NodeSource, whose program is in /usr/bin; without it the other would hide it. */
const INSTALL_NODEJS = `
mkdir -p /tmp/nodejs/DEBIAN /tmp/nodejs/usr/bin
mv /usr/local/bin/node /tmp/nodejs/usr/bin/node
printf 'Package: nodejs\\nVersion: 24.21.0-1nodesource1\\nArchitecture: all\\nMaintainer: none <none@localhost>\\nDescription: Node.js\\n' \\
  > /tmp/nodejs/DEBIAN/control
dpkg-deb -Znone --build /tmp/nodejs /tmp/nodejs.deb
dpkg -i /tmp/nodejs.deb`

/** Failures, as a script makes them. */
const AS_APP = `cd /srv/ts/clock
setpriv --reuid=app --regid=app --clear-groups scriptify install x --class 'App\\Clock::time'`
const RUN_PHP =
  'mkdir -p /srv/none/vendor; cd /srv/none; touch composer.json vendor/autoload.php; scriptify run A::b'
const query = (database: string, language: Language = 'ts') => `cd /srv/${language}/clock
DATABASE_URL=${database}://u:p@127.0.0.1:1/x scriptify terminal --execute "qq('select 1')"`

describe.runIf(await hasDocker())('the packages of scriptify', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'scriptify-packages-'))
    const unpacked = join(folder, 'unpacked')
    await mkdir(unpacked)
    await buildDebianPackage(await packScriptify(ROOT, { folder: unpacked, target: folder }), folder)
    for (const path of ['package.json', 'services/scriptify/package.json']) {
      const manifest = join(unpacked, path)
      const text = await readFile(manifest, 'utf8')
      await writeFile(manifest, text.replace(`"version": "${VERSION}"`, `"version": "${NEXT}"`))
    }
    await run('npm', ['pack', '--pack-destination', folder], { cwd: unpacked })
    await buildDebianPackage(join(folder, `latchkey-scriptify-${NEXT}.tgz`), folder)
    rmSync(unpacked, { recursive: true })
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  describe.each([
    { kind: 'php', manager: 'npm', languages: ['ts', 'php'] },
    { kind: 'php', manager: 'deb', languages: ['ts', 'php'] },
    { kind: 'node', manager: 'npm', languages: ['ts'] },
    { kind: 'node', manager: 'deb', languages: ['ts'] },
  ] as const)('from $manager on a bare $kind machine', ({ kind, manager, languages }) => {
    const { install, remove, home, list, has } = INSTALLATIONS[manager]
    let machine: Machine
    let before: string[]

    beforeAll(async () => {
      machine = await startBareMachine(kind)
      if (manager === 'deb') {
        const refused = await sh(machine, install(VERSION)).catch((error) => error)
        expect(refused).toMatchObject({ stdout: expect.stringContaining('Depends: nodejs (>= 24)') })
        await sh(machine, INSTALL_NODEJS)
      }
      before = await listFiles(machine)
      await sh(machine, install(VERSION))
    })
    afterAll(() => machine?.stop())

    it('has the program, its manual and its completions', async () => {
      expect(await sh(machine, 'cd / && scriptify --version')).toBe(`${VERSION}\n`)
      const files = (await sh(machine, list)).split('\n')
      for (const file of has) expect(files).toContain(file)
      const completion =
        manager === 'deb'
          ? '. /usr/share/bash-completion/completions/scriptify'
          : '. <(scriptify completion bash)'
      expect(await sh(machine, `${completion}; complete -p scriptify`)).toBe(
        'complete -o default -F _scriptify scriptify\n',
      )
      expect(await sh(machine, `find ${home} -name '*.ts' -o -path '*/@latchkey/shared'`)).toBe('')
    })

    it.runIf(manager === 'deb')('runs by the node of its dependency, whatever the PATH says', async () => {
      await sh(machine, 'mkdir /tmp/other && ln -s /bin/false /tmp/other/node')
      expect(await sh(machine, 'PATH=/tmp/other:$PATH scriptify --version')).toBe(`${VERSION}\n`)
    })

    it.each(languages)('does in %s what the README and the tutorial say', async (language) => {
      await followPage(machine, README, language)
      await followPage(machine, TUTORIAL, language)
      await sh(machine, `mv /srv/clock /srv/${language}/clock`)
      if (language === 'php')
        await sh(
          machine,
          'cd /srv/php/clock && rm -r vendor && COMPOSER_ALLOW_SUPERUSER=1 composer dump-autoload',
        )
    })

    it('runs services that survive a restart of the machine and an upgrade of the package', async () => {
      for (const language of languages)
        await sh(
          machine,
          `cd /srv/${language}/clock && scriptify install ${language}-clock --class 'App\\Clock::greet' --arg Ada \\
             --interval 1 --user app --enable --start`,
        )
      const names = languages.map((language) => `${language}-clock`)
      await machine.restart()
      await sh(machine, "systemctl is-system-running --wait | grep -Eq 'running|degraded'")
      for (const name of names) expect(await waitForCall(machine, name)).toContain('Ada')

      await sh(machine, install(NEXT))
      expect(await sh(machine, 'scriptify --version')).toBe(`${NEXT}\n`)
      for (const name of names) {
        expect(await sh(machine, `grep -c ${home} /etc/systemd/system/${name}.service`)).toBe('1\n')
        await sh(machine, `scriptify install ${name} --force --start`)
        expect(await waitForCall(machine, name)).toContain('Ada')
      }
    })

    it.each([
      { why: 'a user who is not root', code: 4, says: 'root', script: AS_APP },
      { why: 'no driver of PostgreSQL', code: 1, says: 'npm install pg-promise', script: query('postgres') },
      { why: 'no driver of MySQL', code: 1, says: 'npm install mysql2', script: query('mysql') },
      kind === 'php'
        ? {
            why: 'no driver of php',
            code: 1,
            says: 'apt-get install php-pgsql\\)\n    at php shell code:1\n',
            script: query('postgres', 'php'),
          }
        : { why: 'no php', code: 5, says: 'apt-get install php-cli', script: RUN_PHP },
    ])('says in one line what is wrong: $why', async ({ code, says, script }) => {
      const refused = await sh(machine, script).catch((error) => error)
      expect(refused).toMatchObject({ code, stderr: expect.stringMatching(`^[^\n]*${says}[^\n]*\n$`) })
    })

    it('leaves nothing', async () => {
      if (manager === 'deb')
        await expect(sh(machine, remove)).rejects.toMatchObject({
          stdout: expect.stringContaining('remove it first with: scriptify uninstall ts-clock'),
        })
      for (const language of languages) await sh(machine, `scriptify uninstall ${language}-clock`)
      await sh(machine, remove)
      expect(await listFiles(machine)).toEqual(before)
    })
  })
})

async function startBareMachine(kind: 'php' | 'node'): Promise<Machine> {
  const image = await buildMachine(kind)
  const packages = [{ source: folder, target: `${PACKAGES}/dist` }]
  return bootSystemd(image.withCopyDirectoriesToContainer(packages).withWorkingDir(PACKAGES))
}

/** Runs a script as root; rejects with the output of one that fails. */
async function sh(machine: Machine, script: string): Promise<string> {
  const { stdout } = await run('docker', ['exec', machine.getId(), 'bash', '-ec', script])
  return stdout
}

/** Lists the files that packages and services could leave. npm leaves the folder of a scope, apt those of its cache. */
const listFiles = async (machine: Machine): Promise<string[]> =>
  (
    await sh(
      machine,
      `find /etc /usr /opt /var/cache /var/lib/systemd -xdev ! -name @latchkey ! -path '/var/cache/apt/*' | sort`,
    )
  ).split('\n')

/** The next line of the log of a service. */
const waitForCall = (machine: Machine, name: string): Promise<string> =>
  sh(machine, `timeout 60 sh -c 'scriptify logs ${name} --lines 0 --follow | head -n 1'`)
