import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { namedBootloader, type RuntimeName } from '../classes/choose-runtime.ts'
import { findConfiguredProject, findProject } from '../classes/find-project.ts'
import { requireEnterableFolder, requireFile } from '../io/require-path.ts'
import type { MethodCall } from './method-call.ts'
import { resolveReference } from './resolve-reference.ts'
import type { Runtime } from './runtime.ts'

const RUNTIMES: Record<RuntimeName, () => Promise<Runtime>> = {
  php: async () => (await import('./php/runtime.ts')).phpRuntime,
  node: async () => (await import('./node/runtime.ts')).nodeRuntime,
}

/** Loads one language; the other costs nothing. */
export const loadRuntime = (name: RuntimeName): Promise<Runtime> => RUNTIMES[name]()

/** A call as the command line describes it; paths may be relative. */
export interface CallOptions extends Omit<MethodCall, 'reference' | 'rootdir' | 'bootstrap'> {
  /** The working directory of the call; that of the project when absent. */
  readonly rootdir?: string | undefined
  /** The bootstrap, relative to `rootdir`. */
  readonly bootstrap?: string | undefined
  readonly runtime?: RuntimeName | undefined
}

/**
 * Finds the method that a reference names and the files that its call needs; runs none of the project's code.
 * Throws a CliError: 2 for an invalid reference, 3 for a folder, bootstrap or module that does not exist, 4 for one that this
 * user may not look at.
 */
export async function resolveCall(
  text: string,
  { rootdir: folder, bootstrap, runtime, ...rest }: CallOptions,
  env: NodeJS.ProcessEnv,
): Promise<MethodCall> {
  const file = bootstrap ?? namedBootloader(env) ?? /^[^#]+(?=#)/.exec(text)?.[0]
  const here = resolve(folder ?? '.')
  // A file that is named by its path is one of this folder.
  const isHere = folder !== undefined || (file !== undefined && existsSync(file))
  const find = file === undefined ? findConfiguredProject : findProject
  const rootdir = isHere ? here : find(here)
  requireEnterableFolder(rootdir, 'The root directory')
  // Checked before the reference, because without it the class is unknown too.
  const named = bootstrap === undefined ? undefined : getBootstrap(resolve(rootdir, bootstrap))
  const reference = resolveReference(text, { rootdir, runtime, bootstrap: named, env })
  const { findBootstrap } = await loadRuntime(reference.runtime)
  const found = named ?? findBootstrap(rootdir, env, reference)
  return { ...rest, rootdir, reference, bootstrap: found }
}

function getBootstrap(path: string): string {
  requireFile(path, 'The bootstrap')
  return path
}
