import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

const RELATIVE_IMPORT = /\bfrom\s*["'](\.{1,2}\/[^"']+)["']/g

/** A module and the files of the project that it imports or exports from, the nearest first. */
export function* filesFrom(module: string): Generator<string> {
  const files = new Set([module])
  // A set also yields what is added to it meanwhile.
  for (const file of files) {
    yield file
    for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(RELATIVE_IMPORT)) {
      const imported = resolve(dirname(file), path)
      if (/\.[cm]?[jt]s$/.test(imported) && existsSync(imported)) files.add(imported)
    }
  }
}
