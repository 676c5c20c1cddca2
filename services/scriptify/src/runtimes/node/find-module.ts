import { readFileSync, realpathSync, statSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { z } from 'zod'
import { CliError } from '../../cli-error.ts'
import { EXIT } from '../../exit-codes.ts'

interface Place {
  rootdir: string
  allowOutside: boolean
}

const Namespaces = z.record(z.string(), z.string())
const EXTENSIONS = ['ts', 'mts', 'js', 'mjs']

/** The absolute path of a module named by its path; throws 3 where there is none, 4 where it is outside the project. */
export function getModule(path: string, place: Place): string {
  const absolute = resolve(place.rootdir, path)
  if (!isFile(absolute)) throw new CliError(`There is no module ${absolute}`, EXIT.notFound)
  return stayInside(absolute, place)
}

/**
 * Finds the module and export of a class by the project's map of namespaces to folders, `{"App\\": "src/"}`:
 * `scriptify.config.json`, else `scriptify.namespaces` in package.json. `lookedFor` is empty if no prefix fits.
 */
export function findModule(className: string, place: Place): { found?: string; lookedFor: string[] } {
  const namespaces = readNamespaces(place.rootdir)
  const prefixes = Object.keys(namespaces)
    .filter((prefix) => className.startsWith(prefix))
    .sort((one, other) => other.length - one.length)
  const lookedFor: string[] = []
  for (const prefix of prefixes) {
    const folder = resolve(place.rootdir, namespaces[prefix] ?? '')
    for (const base of bases(folder, className.slice(prefix.length))) {
      const path = EXTENSIONS.map((extension) => `${base}.${extension}`).find(isFile)
      if (path !== undefined) {
        return { found: `${stayInside(path, place)}#${className.split('\\').at(-1)}`, lookedFor }
      }
      lookedFor.push(`${relative(place.rootdir, base)}.{${EXTENSIONS}}`)
    }
  }
  return { lookedFor }
}

/** `Import\UserList` is looked for as `Import/UserList.ts` and as `import/user-list.ts`. */
function bases(folder: string, name: string): Set<string> {
  const parts = name.split('\\')
  const kebab = parts.map((part) => part.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase())
  return new Set([parts, kebab].map((path) => join(folder, ...path)))
}

function readNamespaces(rootdir: string): Record<string, string> {
  const own = readJson(
    join(rootdir, 'scriptify.config.json'),
    z.object({ namespaces: Namespaces.optional() }),
  )
  if (own?.namespaces) return own.namespaces
  const Manifest = z.object({ scriptify: z.object({ namespaces: Namespaces.optional() }).optional() })
  return readJson(join(rootdir, 'package.json'), Manifest)?.scriptify?.namespaces ?? {}
}

function readJson<Content>(path: string, shape: z.ZodType<Content>): Content | undefined {
  if (!isFile(path)) return undefined
  try {
    return shape.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch (cause) {
    const what = cause instanceof z.ZodError ? 'namespaces must map prefixes to folders' : String(cause)
    throw new CliError(`${path} cannot be used: ${what}`, EXIT.usage)
  }
}

/** After symbolic links, so that a link is no way out; a command installed for root should not run just any file. */
function stayInside(path: string, { rootdir, allowOutside }: Place): string {
  const root = realpathSync(rootdir)
  const prefix = root.endsWith(sep) ? root : root + sep
  if (allowOutside || realpathSync(path).startsWith(prefix)) return path
  throw new CliError(`${path} is outside ${rootdir}; --allow-outside permits it`, EXIT.notPermitted)
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true
