import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-codes.ts'
import type { MethodCall } from '../runtimes/method-runtime.ts'
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
  const named = bootstrap === undefined ? undefined : getFile(rootdir, bootstrap, 'The bootstrap')
  const reference = resolveReference(text, { rootdir, runtime, allowOutside, bootstrap: named, env })
  const fallback = reference.runtime === 'php' ? findPhpBootstrap(rootdir, env) : () => undefined
  return { ...rest, rootdir, reference, bootstrap: named ?? fallback() }
}

/** Where php finds the project's classes unless told otherwise; asked only when it is needed. */
const findPhpBootstrap =
  (rootdir: string, { SCRIPTIFY_BOOTLOADER: bootloader }: NodeJS.ProcessEnv) =>
  (): string => {
    if (bootloader) return getFile(rootdir, bootloader, 'SCRIPTIFY_BOOTLOADER names')
    const path = resolve(rootdir, DEFAULT_BOOTSTRAP)
    if (existsSync(path)) return path
    throw new CliError(`The bootstrap ${path} does not exist; --bootstrap names another`, EXIT.notFound)
  }

function getFile(rootdir: string, file: string, what: string): string {
  const path = resolve(rootdir, file)
  if (statSync(path, { throwIfNoEntry: false })?.isFile()) return path
  throw new CliError(
    what.endsWith('names') ? `${what} ${path}, which does not exist` : `${what} ${path} does not exist`,
    EXIT.notFound,
  )
}
