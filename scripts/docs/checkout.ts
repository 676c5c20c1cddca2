import { execFile } from 'node:child_process'
import { cp, mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { listFiles } from '@latchkey/test-support/list-files.ts'

export const ROOT: string = join(import.meta.dirname, '..', '..')

const run = promisify(execFile)

export interface PublishedCheckout extends AsyncDisposable {
  /** The address for `git clone`. */
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
