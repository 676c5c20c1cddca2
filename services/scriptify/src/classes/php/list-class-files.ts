import { globSync, readFileSync } from 'node:fs'
import { join, resolve, sep } from 'node:path'
import { propertyOf } from '../../io/json-object.ts'
import type { ClassFile } from '../namespace-folders.ts'
import { isNamespaceFolders, type NamespaceFolders } from '../namespace-folders.ts'

/** The classes that Composer's psr-4 of this project leads to, by the names of their files. */
export function listClassFiles(rootdir: string): ClassFile[] {
  return Object.entries(readPrefixes(rootdir)).flatMap(([prefix, folders]) =>
    [folders].flat().flatMap((folder) => {
      const root = resolve(rootdir, folder)
      return globSync('**/*.php', { cwd: root, exclude: ['**/vendor/**'] }).map((file) => ({
        name: prefix + file.slice(0, -'.php'.length).replaceAll(sep, '\\'),
        file: join(root, file),
      }))
    }),
  )
}

/** Reads the psr-4 prefixes of a project; none where Composer does not describe it. */
function readPrefixes(rootdir: string): NamespaceFolders {
  try {
    const manifest: unknown = JSON.parse(readFileSync(join(rootdir, 'composer.json'), 'utf8'))
    const prefixes = propertyOf(propertyOf(manifest, 'autoload'), 'psr-4')
    return isNamespaceFolders(prefixes) ? prefixes : {}
  } catch {
    return {}
  }
}
