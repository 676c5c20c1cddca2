import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

export const ROOT: string = join(import.meta.dirname, '..', '..')

const run = promisify(execFile)

/** Every file of a checkout that git does not ignore, relative to its root. */
export const listFiles = (root: string): string[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((file) => file !== '' && existsSync(join(root, file)))

export interface PublishedCheckout extends AsyncDisposable {
  /** What `git clone` takes. */
  address: string
  /** An empty folder for clones. */
  folder: string
}

/** A repository with the files of this checkout, and a folder beside it. */
export async function publishCheckout(): Promise<PublishedCheckout> {
  const folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-clone-'))
  const published = await mkdtempDisposable(join(tmpdir(), 'latchkey-published-'))
  for (const file of listFiles(ROOT)) await cp(join(ROOT, file), join(published.path, file))
  await run('git', ['init', '-q', '-b', 'main'], { cwd: published.path })
  await commitAll(published.path, 'a version')
  return {
    address: published.path,
    folder: folder.path,
    async [Symbol.asyncDispose]() {
      await published.remove()
      await folder.remove()
    },
  }
}

export async function commitAll(repository: string, message: string): Promise<void> {
  const author = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com']
  await run('git', ['add', '-A'], { cwd: repository })
  await run('git', [...author, 'commit', '-q', '-m', message], { cwd: repository })
}
