import { globSync, readFileSync } from 'node:fs'
import { join, resolve, sep } from 'node:path'
import { z } from 'zod'
import type { ClassFile } from '../class-file.ts'

const Folders = z.union([z.string(), z.array(z.string())])
const Manifest = z.object({ autoload: z.object({ 'psr-4': z.record(z.string(), Folders) }) })

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

/** None for a project that Composer does not describe. */
function readPrefixes(rootdir: string): Record<string, string | string[]> {
  try {
    const manifest = Manifest.safeParse(JSON.parse(readFileSync(join(rootdir, 'composer.json'), 'utf8')))
    return manifest.data?.autoload['psr-4'] ?? {}
  } catch {
    return {}
  }
}
