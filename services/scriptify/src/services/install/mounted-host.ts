import { lstatSync, readlinkSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { CliError, EXIT } from '../../io/cli-error.ts'
import type { CommandWords } from '../../io/replace-process.ts'
import type { MethodCall } from '../../run/method-call.ts'

/** The folder of scriptify on this machine: the root of the repository. */
export const OWN_HOME = resolve(import.meta.dirname, '../../../../..')
const FOLDERS = ['/usr/local/bin', '/usr/bin', '/bin']
/** The program of scriptify below its folder. */
const LAUNCHER = '/services/scriptify/bin/scriptify'

/** The project's paths as that host sees them, absolute. */
interface WrittenPaths {
  readonly rootdir: string
  readonly bootstrap: string | undefined
}

export const writtenPaths = ({ rootdir = '.', bootstrap }: Partial<WrittenPaths>): WrittenPaths => ({
  rootdir: resolve('/', rootdir),
  bootstrap: bootstrap === undefined ? undefined : resolve('/', rootdir, bootstrap),
})

/** The project's paths as this process sees them; links are followed as that host would. */
export function mounted({ rootdir, bootstrap }: WrittenPaths, root: string): WrittenPaths {
  const find = (path: string) => join(root, resolveBelow(root, path) ?? path)
  return { rootdir: find(rootdir), bootstrap: bootstrap === undefined ? undefined : find(bootstrap) }
}

/**
 * The call as that host sees it, with the paths as they were written, because a link in one may change later. Throws exit
 * code 2 for a file that is not below its root.
 */
export function seenFrom(call: MethodCall, written: WrittenPaths, root: string): MethodCall {
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
export function wordsFor(words: CommandWords, runtime: 'php' | 'node', root: string): CommandWords {
  const [, ...rest] = words
  // The first path of scriptify itself; the call follows it.
  const index = rest.findIndex((word) => word.startsWith(`${OWN_HOME}${sep}`))
  const moved =
    index === -1 ? rest : rest.with(index, findOwn(rest[index]?.slice(OWN_HOME.length) ?? '', root))
  return [findProgram(runtime, root), ...moved]
}

/** A file of scriptify on that host, where it may be compiled: in a package, or not, in a checkout. */
function findOwn(file: string, root: string): string {
  const path = findHome(root) + file
  const other = path.endsWith('.ts') ? path.replace(/ts$/, 'js') : path.replace(/js$/, 'ts')
  const found = [path, other].find((each) => resolveBelow(root, each) !== undefined)
  if (found !== undefined) return found
  throw new CliError(
    `${join(root, path)} does not exist: install scriptify on that host again`,
    EXIT.notFound,
  )
}

/** The folder of scriptify on that host, to which the link `scriptify` leads there. */
function findHome(root: string): string {
  const links = FOLDERS.map((folder) => join(folder, 'scriptify'))
  const found = links
    .map((link) => resolveBelow(root, link))
    .find((path) => path?.endsWith(LAUNCHER) === true)
  if (found !== undefined) return found.slice(0, -LAUNCHER.length)
  throw new CliError(
    `scriptify was not found below ${root} (looked for ${links.join(', ')}): install it there, or link the first to its bin/scriptify`,
    EXIT.notFound,
  )
}

function findProgram(runtime: 'php' | 'node', root: string): string {
  const candidates = FOLDERS.map((folder) => join(folder, runtime))
  const found = candidates.find((path) => resolveBelow(root, path) !== undefined)
  if (found !== undefined) return found
  throw new CliError(
    `${runtime} was not found below ${root} (looked for ${candidates.join(', ')}): install it there, or link it to the first`,
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
