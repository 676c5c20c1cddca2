import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join, matchesGlob } from 'node:path'

/**
 * Every file of a checkout that git does not ignore, relative to its root. An archive has no repository and a container may
 * have no git: the folder is read then, by the patterns of `.gitignore`.
 */
export function listFiles(root: string): string[] {
  // The checkout may belong to another user, which git refuses otherwise.
  const git = ['-c', 'safe.directory=*', 'ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const { status, stdout } = spawnSync('git', git, { cwd: root, encoding: 'utf8' })
  const listed =
    status === 0 ? stdout.split('\0').filter((file) => file !== '' && existsSync(join(root, file))) : []
  return listed.length > 0 ? listed : readFolder(root)
}

function readFolder(root: string): string[] {
  const patterns = readFileSync(join(root, '.gitignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.replace(/\/$/, ''))
  // A pattern with a slash is of a path, and any other of a name.
  const isIgnored = (path: string): boolean =>
    basename(path) === '.git' ||
    patterns.some((pattern) =>
      pattern.includes('/')
        ? matchesGlob(path, pattern.replace(/^\//, ''))
        : matchesGlob(basename(path), pattern),
    )
  const read = (folder: string): string[] =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name)
      if (isIgnored(path)) return []
      return entry.isDirectory() ? read(path) : [path]
    })
  return read('')
}
