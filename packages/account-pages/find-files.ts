import { glob } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the pages. */
export const PAGES = join(import.meta.dirname, 'src')

const pathOf = (name: string): string => fileURLToPath(import.meta.resolve(name))

/** The folders of what the pages load, by the name of each beside the pages. */
const FOLDERS: Readonly<Record<string, string>> = {
  '': PAGES,
  'client/': dirname(pathOf('@latchkey/client')),
}

/** Finds the files that a server of the pages serves: the path of each, by its name relative to the address of the pages. */
export async function findFiles(): Promise<Map<string, string>> {
  const files = new Map([['qr.js', pathOf('qr')]])
  for (const [prefix, folder] of Object.entries(FOLDERS))
    for await (const name of glob('**/*.{html,css,js,json,svg}', { cwd: folder }))
      files.set(`${prefix}${name}`, join(folder, name))
  return files
}
