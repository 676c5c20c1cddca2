import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, mkdtempDisposable, readFile, rename, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { createCli } from '../../../services/scriptify/src/cli/cli.ts'
import { formatCompletion, SHELLS } from '../../../services/scriptify/src/cli/completion.ts'

const run = promisify(execFile)
/** The folder of the files of the npm package; installed services name it. */
const HOME = '/usr/share/scriptify'
const BIN = 'services/scriptify/bin/scriptify'
const COMPLETIONS = {
  bash: '/usr/share/bash-completion/completions/scriptify',
  zsh: '/usr/share/zsh/vendor-completions/_scriptify',
  fish: '/usr/share/fish/vendor_completions.d/scriptify.fish',
}

/** Builds a package for Debian from the tarball for npm; resolves with its path in `target`. */
export async function buildDebianPackage(tarball: string, target: string): Promise<string> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'scriptify-deb-'))
  const root = folder.path
  const home = join(root, HOME)
  await mkdir(dirname(home), { recursive: true })
  await run('tar', ['-xzf', tarball, '-C', root])
  await rename(join(root, 'package'), home)
  await placeInSystem(root, home)
  const manifest = JSON.parse(await readFile(join(home, 'package.json'), 'utf8'))
  const version = toDebianVersion(manifest.version)
  await writeControlFiles(root, { version, description: manifest.description })
  // npm sets no mode for others, and a strict umask would hide the files.
  await run('chmod', ['--recursive', 'u=rwX,go=rX', root])
  const file = join(target, `scriptify_${version}_all.deb`)
  await run('dpkg-deb', ['--root-owner-group', '--build', root, file])
  return file
}

/** Debian sorts `1.0.0~rc.0` before `1.0.0`, and `1.0.0-rc.0` after it. */
export const toDebianVersion = (version: string): string => version.replace('-', '~')

/** Puts program, manual and completions where the programs of a system look for them. */
async function placeInSystem(root: string, home: string): Promise<void> {
  const create = (path: string) => mkdir(join(root, path), { recursive: true })
  await create('/etc/scriptify')
  await create('/usr/bin')
  await symlink(`../share/scriptify/${BIN}`, join(root, '/usr/bin/scriptify'))
  // The node of the package's dependency, whatever the PATH of a user says.
  const launcher = join(home, BIN)
  await writeFile(launcher, (await readFile(launcher, 'utf8')).replace('exec node', 'exec /usr/bin/node'))
  await create('/usr/share/man/man1')
  await rename(join(home, 'man', 'scriptify.1'), join(root, '/usr/share/man/man1/scriptify.1'))
  await run('gzip', ['--best', '--no-name', join(root, '/usr/share/man/man1/scriptify.1')])
  const program = await createCli()
  for (const shell of SHELLS) {
    const path = COMPLETIONS[shell]
    await create(dirname(path))
    await writeFile(join(root, path), formatCompletion(program, shell))
  }
  await create('/usr/share/doc/scriptify')
  await cp(join(home, 'LICENSE'), join(root, '/usr/share/doc/scriptify/copyright'))
}

async function writeControlFiles(
  root: string,
  { version, description }: { version: string; description: string },
): Promise<void> {
  const { stdout } = await run('du', ['--summarize', '--apparent-size', '--block-size=1024', root])
  const control = [
    'Package: scriptify',
    `Version: ${version}`,
    'Architecture: all',
    'Maintainer: Latchkey <latchkey@localhost>',
    `Installed-Size: ${Number.parseInt(stdout, 10)}`,
    'Depends: nodejs (>= 24)',
    'Suggests: php-cli (>= 2:8.3), logrotate',
    'Section: admin',
    'Priority: optional',
    `Description: ${description}`,
    '',
  ]
  await mkdir(join(root, 'DEBIAN'))
  await writeFile(join(root, 'DEBIAN', 'control'), control.join('\n'))
  await writeFile(join(root, 'DEBIAN', 'prerm'), PRERM)
  await chmod(join(root, 'DEBIAN', 'prerm'), 0o755)
}

/** Refuses to remove the package while a service is installed: that could not start any more, and nothing could uninstall it. */
const PRERM = `#!/bin/sh
set -e
[ "$1" = remove ] || exit 0
for file in /etc/scriptify/*.env; do
  [ -e "$file" ] || continue
  name=$(basename "$file" .env)
  echo "the service $name is still installed: remove it first with: scriptify uninstall $name" >&2
  failed=1
done
exit "\${failed:-0}"
`
