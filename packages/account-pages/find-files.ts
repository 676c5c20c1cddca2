import { glob } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the pages. */
export const PAGES = join(import.meta.dirname, 'src')

/** The packages that the pages load, by the name of the file that holds each of them beside the pages. */
export const LIBRARIES: Readonly<Record<string, string>> = {
  'openapi-fetch.mjs': fileURLToPath(import.meta.resolve('openapi-fetch')),
  'qr.js': fileURLToPath(import.meta.resolve('qr')),
}

/** Finds the files that a server of the pages serves: the path of each, by its name relative to the address of the pages. */
export async function findFiles(): Promise<Map<string, string>> {
  const files = new Map(Object.entries(LIBRARIES))
  for await (const name of glob('**/*.{html,css,js,json,svg}', { cwd: PAGES }))
    files.set(name, join(PAGES, name))
  return files
}
