import { execFile } from 'node:child_process'
import { cp, mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from './generated-pages.ts'

const run = promisify(execFile)

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
  const list = ['ls-files', '--cached', '--others', '--exclude-standard']
  const { stdout } = await run('git', list, { cwd: ROOT })
  for (const file of stdout.split('\n').filter(Boolean))
    await cp(join(ROOT, file), join(published.path, file)).catch(() => undefined)
  const git = (...args: string[]) =>
    run('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args], { cwd: published.path })
  await git('init', '-q', '-b', 'main')
  await git('add', '-A')
  await git('commit', '-q', '-m', 'a version')
  return {
    address: published.path,
    folder: folder.path,
    async [Symbol.asyncDispose]() {
      await published.remove()
      await folder.remove()
    },
  }
}
