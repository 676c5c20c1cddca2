import { lstatSync, readlinkSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-codes.ts'
import type { CommandWords, MethodCall } from '../runtimes/runtime.ts'

/** Scriptify's own files: the repository's root. */
const HERE = resolve(dirname(fileURLToPath(import.meta.url)), '../../../..')
const FOLDERS = ['/usr/local/bin', '/usr/bin', '/bin']

/** Another system, whose files are mounted below `root`. */
export interface OtherSystem {
  readonly root: string
  /** Where scriptify lies on that system. */
  readonly home: string
  /** Its php or node; looked for in the usual folders when absent. */
  readonly program?: string | undefined
}

/** The project's paths as that system has them, absolute. */
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

/** Where this process finds these paths; a link of that system is followed as that system would. */
export function mounted({ rootdir, bootstrap }: WrittenPaths, { root }: OtherSystem): WrittenPaths {
  const find = (path: string) => join(root, resolveBelow(root, path) ?? path)
  return { rootdir: find(rootdir), bootstrap: bootstrap === undefined ? undefined : find(bootstrap) }
}

/**
 * The call as that system sees it, its paths as they were written: the link in one may lead elsewhere tomorrow. Throws exit
 * code 2 for a file that is not below its root.
 */
export function seenFrom(call: MethodCall, written: WrittenPaths, { root }: OtherSystem): MethodCall {
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
    reference:
      reference.runtime === 'node' ? { ...reference, className: strip(reference.className) } : reference,
  }
}

/** The words with that system's program, and scriptify where it lies there; throws exit code 3 if one is missing. */
export function wordsFor(words: CommandWords, runtime: 'php' | 'node', other: OtherSystem): CommandWords {
  const { root, home } = other
  const [, ...rest] = words
  // The first word of ours; what comes after it is the call.
  const index = rest.findIndex((word) => word.startsWith(`${HERE}${sep}`))
  const launcher = index === -1 ? undefined : home + rest[index]?.slice(HERE.length)
  if (launcher !== undefined && resolveBelow(root, launcher) === undefined) {
    throw new CliError(
      `${join(root, launcher)} does not exist: --home tells where scriptify lies on that system`,
      EXIT.notFound,
    )
  }
  const moved = launcher === undefined ? rest : rest.with(index, launcher)
  return [findProgram(runtime, other), ...moved]
}

function findProgram(runtime: 'php' | 'node', { root, home, program }: OtherSystem): string {
  const own = runtime === 'node' ? [join(home, 'node_modules/node/bin/node')] : []
  const candidates =
    program === undefined ? [...FOLDERS.map((folder) => join(folder, runtime)), ...own] : [program]
  const found = candidates.find((path) => resolveBelow(root, path) !== undefined)
  if (found !== undefined) return found
  throw new CliError(
    `There is no ${runtime} below ${root} (looked for ${candidates.join(', ')}): --program names it`,
    EXIT.runtimeMissing,
  )
}

/** A path of that system without its links, of which an absolute one begins at its root; undefined where nothing is. */
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
