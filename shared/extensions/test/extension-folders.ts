import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** A folder of extensions that lives as long as the test: for each path the text of its file. */
export async function someExtensions(files: Readonly<Record<string, string>>) {
  const folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-extensions-'))
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder.path, path)), { recursive: true })
    await writeFile(join(folder.path, path), text)
  }
  return folder
}

const moduleOf = (path: string): string =>
  JSON.stringify(pathToFileURL(join(import.meta.dirname, '..', '..', path)).href)

/** The text of an `extension.ts`, which may use zod and the kinds of settings. A folder elsewhere has no packages. */
export const entry = (definition: string): string => `
  import { z } from ${JSON.stringify(import.meta.resolve('zod'))}
  import { secret, wholeNumber } from ${moduleOf('settings/setting.ts')}
  export default ${definition}`
