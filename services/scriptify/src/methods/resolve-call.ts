import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-codes.ts'
import type { MethodCall } from '../runtimes/runtime.ts'
import { resolveReference } from './resolve-reference.ts'

/** A call as it is asked for on the command line; paths may be relative. */
export interface CallOptions extends Omit<MethodCall, 'reference' | 'rootdir' | 'bootstrap'> {
  /** The working directory of the call; ours when absent. */
  readonly rootdir?: string | undefined
  /** Relative to `rootdir`. */
  readonly bootstrap?: string | undefined
  readonly runtime?: 'php' | 'node' | undefined
  /** Lets a module lie outside `rootdir`. */
  readonly allowOutside?: boolean | undefined
}

const DEFAULT_BOOTSTRAP = 'vendor/autoload.php'

/**
 * Finds what a class reference means and which files the call needs; nothing of the project is run.
 * Throws a CliError: 2 for what cannot be a reference, 3 for a folder, bootstrap or module that does not exist.
 */
export async function resolveCall(
  text: string,
  { rootdir: folder = '.', bootstrap, runtime, allowOutside = false, ...rest }: CallOptions,
  env: NodeJS.ProcessEnv,
): Promise<MethodCall> {
  const rootdir = resolve(folder)
  if (!statSync(rootdir, { throwIfNoEntry: false })?.isDirectory()) {
    throw new CliError(`The root directory ${rootdir} does not exist`, EXIT.notFound)
  }
  // Before the reference: with a wrong one everything else would be unknown as well.
  const named = bootstrap === undefined ? undefined : resolve(rootdir, bootstrap)
  if (named !== undefined) demandFile(named, `The bootstrap ${named} does not exist`)
  const reference = resolveReference(text, { rootdir, runtime, allowOutside, bootstrap: named, env })
  const found = named ?? (reference.runtime === 'php' ? getPhpBootstrap(rootdir, env) : undefined)
  return { ...rest, rootdir, reference, bootstrap: found }
}

/** Where php finds the project's classes unless told otherwise. */
function getPhpBootstrap(rootdir: string, { SCRIPTIFY_BOOTLOADER: named }: NodeJS.ProcessEnv): string {
  const path = resolve(rootdir, named || DEFAULT_BOOTSTRAP)
  demandFile(
    path,
    named
      ? `SCRIPTIFY_BOOTLOADER names ${path}, which does not exist`
      : `The bootstrap ${path} does not exist; --bootstrap names another`,
  )
  return path
}

function demandFile(path: string, complaint: string): void {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) throw new CliError(complaint, EXIT.notFound)
}
