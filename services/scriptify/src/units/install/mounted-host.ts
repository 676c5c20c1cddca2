import { lstatSync, readlinkSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { CliError, EXIT } from '../../io/cli-error.ts'
import type { CommandWords } from '../../io/replace-process.ts'
import type { MethodCall } from '../../run/method-call.ts'

/** The folder of scriptify on this machine: the root of the repository. */
export const OWN_HOME = resolve(import.meta.dirname, '../../../../..')
const FOLDERS = ['/usr/local/bin', '/usr/bin', '/bin']

/** Another host, whose files are mounted below `root`. */
export interface MountedHost {
  readonly root: string
  /** The folder of scriptify on that host. */
  readonly home: string
  /** The php or node of the host; default: the first in the usual folders. */
  readonly program?: string | undefined
}

/** The project's paths as that host sees them, absolute. */
interface WrittenPaths {
  readonly rootdir: string
  readonly bootstrap: string | undefined
}

export const writtenPaths = ({
  rootdir,
  bootstrap,
}: {
  rootdir: string
  bootstrap?: string | undefined
}): WrittenPaths => ({
  rootdir: resolve('/', rootdir),
  bootstrap: bootstrap === undefined ? undefined : resolve('/', rootdir, bootstrap),
})

/** The project's paths as this process sees them; links are followed as that host would. */
export function mounted({ rootdir, bootstrap }: WrittenPaths, { root }: MountedHost): WrittenPaths {
  const find = (path: string) => join(root, resolveBelow(root, path) ?? path)
  return { rootdir: find(rootdir), bootstrap: bootstrap === undefined ? undefined : find(bootstrap) }
}

/**
 * The call as that host sees it, with the paths as they were written, because a link in one may change later. Throws exit
 * code 2 for a file that is not below its root.
 */
export function seenFrom(call: MethodCall, written: WrittenPaths, { root }: MountedHost): MethodCall {
  const { rootdir, bootstrap, reference } = call
  const strip = (path: string): string => {
    if (path.startsWith(`${rootdir}${sep}`)) return join(written.rootdir, path.slice(rootdir.length))
    if (path.startsWith(`${root}${sep}`)) return path.slice(root.length)
    throw new CliError(`${path} is not below --root ${root}`, EXIT.usage)
  }
  return {
    ...call,
    rootdir: written.rootdir,
    bootstrap: written.bootstrap ?? (bootstrap === undefined ? undefined : strip(bootstrap)),
    reference: reference.module === undefined ? reference : { ...reference, module: strip(reference.module) },
  }
}

/** The words with the program and the scriptify of that host; throws exit code 3 or 5 if one is missing. */
export function wordsFor(words: CommandWords, runtime: 'php' | 'node', host: MountedHost): CommandWords {
  const { root, home } = host
  const [, ...rest] = words
  // The first path of scriptify itself; the call follows it.
  const index = rest.findIndex((word) => word.startsWith(`${OWN_HOME}${sep}`))
  const moved =
    index === -1 ? rest : rest.with(index, findOwn(home + rest[index]?.slice(OWN_HOME.length), root))
  return [findProgram(runtime, host), ...moved]
}

/** A file of scriptify on that host, where it may be compiled: in a package, or not, in a checkout. */
function findOwn(path: string, root: string): string {
  const other = path.endsWith('.ts') ? path.replace(/ts$/, 'js') : path.replace(/js$/, 'ts')
  const found = [path, other].find((file) => resolveBelow(root, file) !== undefined)
  if (found !== undefined) return found
  throw new CliError(
    `${join(root, path)} does not exist: give --home, where scriptify is installed on that host`,
    EXIT.notFound,
  )
}

function findProgram(runtime: 'php' | 'node', { root, home, program }: MountedHost): string {
  const own = runtime === 'node' ? [join(home, 'node_modules/.bin/node')] : []
  const candidates =
    program === undefined ? [...FOLDERS.map((folder) => join(folder, runtime)), ...own] : [program]
  const found = candidates.find((path) => resolveBelow(root, path) !== undefined)
  if (found !== undefined) return found
  throw new CliError(
    `${runtime} was not found below ${root} (looked for ${candidates.join(', ')}): give --program`,
    EXIT.runtimeMissing,
  )
}

/** A path of that host without its links, where an absolute one starts at its root; undefined where nothing is. */
function resolveBelow(root: string, path: string, depth = 0): string | undefined {
  const parts = path.split(sep).filter(Boolean)
  for (let length = 1; length <= parts.length; length++) {
    const part = sep + join(...parts.slice(0, length))
    const stats = lstatSync(join(root, part), { throwIfNoEntry: false })
    if (stats === undefined || depth > 40) return undefined
    if (stats.isSymbolicLink()) {
      const target = resolve(dirname(part), readlinkSync(join(root, part)))
      return resolveBelow(root, join(target, ...parts.slice(length)), depth + 1)
    }
  }
  return path
}
