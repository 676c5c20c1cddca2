import { lstatSync, readlinkSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-codes.ts'
import type { CommandWords, MethodCall } from '../runtimes/method-runtime.ts'

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

/** The call as that system sees it; throws exit code 2 for a file that is not below its root. */
export function seenFrom(call: MethodCall, { root }: OtherSystem): MethodCall {
  const { rootdir, bootstrap, reference } = call
  const strip = (path: string): string => {
    if (path.startsWith(`${root}${sep}`)) return path.slice(root.length)
    throw new CliError(`${path} is not below --root ${root}`, EXIT.usage)
  }
  return {
    ...call,
    rootdir: strip(rootdir),
    bootstrap: bootstrap === undefined ? undefined : strip(bootstrap),
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
  if (launcher !== undefined && !existsBelow(root, launcher)) {
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
  const found = candidates.find((path) => existsBelow(root, path))
  if (found !== undefined) return found
  throw new CliError(
    `There is no ${runtime} below ${root} (looked for ${candidates.join(', ')}): --program names it`,
    EXIT.runtimeMissing,
  )
}

/** Follows links as that system would: an absolute one begins at its root. */
function existsBelow(root: string, path: string, depth = 0): boolean {
  const parts = path.split(sep).filter(Boolean)
  for (let length = 1; length <= parts.length; length++) {
    const part = sep + join(...parts.slice(0, length))
    const stats = lstatSync(join(root, part), { throwIfNoEntry: false })
    if (stats === undefined || depth > 40) return false
    if (stats.isSymbolicLink()) {
      const target = resolve(dirname(part), readlinkSync(join(root, part)))
      return existsBelow(root, join(target, ...parts.slice(length)), depth + 1)
    }
  }
  return true
}
