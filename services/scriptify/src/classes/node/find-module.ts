import { globSync, realpathSync } from 'node:fs'
import { basename, dirname, extname, join, relative, resolve, sep } from 'node:path'
import { CliError, EXIT } from '../../io/cli-error.ts'
import { findStats } from '../../io/require-path.ts'
import { readProjectSetting } from '../../project-settings.ts'
import type { ClassFile } from '../namespace-folders.ts'
import { isNamespaceFolders, type NamespaceFolders } from '../namespace-folders.ts'

interface Project {
  rootdir: string
}

const EXTENSIONS = ['ts', 'mts', 'js', 'mjs']

/** The absolute path of a module named by its path; throws 3 where there is none, 4 where it is outside the project. */
export function getModule(path: string, project: Project): string {
  const absolute = stayInside(resolve(project.rootdir, path), project)
  if (!isFile(absolute)) throw new CliError(`Module ${absolute} does not exist`, EXIT.notFound)
  return absolute
}

/**
 * Finds the module of a class by the project's map of namespaces to folders, `{"App\\": "src/"}`:
 * `scriptify.config.json`, else `scriptify.namespaces` in package.json. `lookedFor` is empty if no prefix fits. Throws 2
 * for a class that exists in several folders of a prefix.
 */
export function findModule(className: string, project: Project): { found?: string; lookedFor: string[] } {
  const namespaces = readNamespaces(project.rootdir)
  const prefixes = Object.keys(namespaces)
    .filter((prefix) => className.startsWith(prefix))
    .sort((one, other) => other.length - one.length)
  const lookedFor: string[] = []
  for (const prefix of prefixes) {
    const folders = foldersOf(namespaces[prefix] ?? [], project.rootdir)
    const candidates = folders.flatMap((folder) => [...bases(folder, className.slice(prefix.length))])
    const [path, ...others] = candidates.flatMap((base) => findFile(base) ?? [])
    if (path !== undefined) {
      requireOneFile(className, [path, ...others], project.rootdir)
      return { found: stayInside(path, project), lookedFor }
    }
    lookedFor.push(...candidates.map((base) => `${relative(project.rootdir, base)}.{${EXTENSIONS}}`))
  }
  return { lookedFor }
}

/** The classes that the map of namespaces leads to, by the names of their files. */
export const listClasses = (rootdir: string): string[] =>
  [...new Set(listClassFiles(rootdir).map(({ name }) => name))].sort()

/** The classes that the map of namespaces leads to, with their files. */
export const listClassFiles = (rootdir: string): ClassFile[] =>
  Object.entries(readNamespaces(rootdir)).flatMap(([prefix, patterns]) =>
    foldersOf(patterns, rootdir).flatMap((folder) =>
      globSync(`**/*.{${EXTENSIONS}}`, { cwd: folder }).map((file) => ({
        name: prefix + toClassName(file),
        file: join(folder, file),
      })),
    ),
  )

/** Returns the name of a file's class: `import/user-list.ts` is `Import\\UserList`. */
const toClassName = (file: string): string =>
  file
    .slice(0, -extname(file).length)
    .split(sep)
    .map((part) => part.replace(/(?:^|-)([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase()))
    .join('\\')

/** The absolute paths of the folders. A `*` stands for any folder name; a name without it is not checked for existence. */
const foldersOf = (patterns: string[], rootdir: string): string[] =>
  patterns
    .flatMap((pattern) =>
      pattern.includes('*') ? globSync(pattern.replace(/\/+$/, ''), { cwd: rootdir }).sort() : pattern,
    )
    .map((folder) => resolve(rootdir, folder))

const findFile = (base: string): string | undefined =>
  EXTENSIONS.map((extension) => `${base}.${extension}`).find(isFile)

/** Refuses a class in two folders. One folder may have `UserList.ts` and `user-list.ts`, of which the first counts. */
function requireOneFile(className: string, paths: readonly string[], rootdir: string): void {
  const folders = new Set(paths.map((path) => relative(rootdir, dirname(path))))
  if (folders.size < 2) return
  const files = paths.map((path) => relative(rootdir, path)).join(' and ')
  throw new CliError(`The class ${className} exists in ${files}; rename one`, EXIT.usage)
}

/** `Import\UserList` may be `Import/UserList.ts` or `import/user-list.ts`. */
function bases(folder: string, name: string): Set<string> {
  const parts = name.split('\\')
  const kebab = parts.map((part) => part.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase())
  return new Set([parts, kebab].map((path) => join(folder, ...path)))
}

/** Reads the project's map of namespaces to folders; each of its prefixes ends in a separator. */
const readNamespaces = (rootdir: string): Record<string, string[]> =>
  withSeparators(
    readProjectSetting(rootdir, 'namespaces', {
      isValid: isNamespaceFolders,
      rule: 'map prefixes to folders',
    }) ?? {},
  )

/** `App` as a prefix means `App\`. */
function withSeparators(namespaces: NamespaceFolders): Record<string, string[]> {
  const separated: Record<string, string[]> = {}
  for (const [prefix, folders] of Object.entries(namespaces)) {
    const name = prefix === '' || prefix.endsWith('\\') ? prefix : `${prefix}\\`
    separated[name] = [...(separated[name] ?? []), ...[folders].flat()]
  }
  return separated
}

/**
 * Resolves symbolic links, which could lead outside: a command installed for root must not run any file. The refusal does
 * not tell whether a path outside exists.
 */
function stayInside(path: string, { rootdir }: Project): string {
  const root = realpathSync(rootdir)
  const prefix = root.endsWith(sep) ? root : root + sep
  if (realPath(path).startsWith(prefix)) return path
  throw new CliError(`${path} is outside ${rootdir}: give the folder of both by --rootdir`, EXIT.notPermitted)
}

/** The path without links, as far as it exists. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const folder = dirname(path)
    return folder === path ? path : join(realPath(folder), basename(path))
  }
}

const isFile = (path: string): boolean => findStats(path, 'The module')?.isFile() === true
