import { existsSync } from 'node:fs'
import { extname, join } from 'node:path'
import { CliError, EXIT } from '../io/cli-error.ts'
import { SETTINGS } from '../scriptify-settings.ts'

/** The languages, as `--runtime` names them. */
export const RUNTIME_NAMES = ['php', 'node'] as const
export type RuntimeName = (typeof RUNTIME_NAMES)[number]

/** The facts that decide the runtime of a class; paths are absolute. */
export interface ClassContext {
  rootdir: string
  /** The language that --runtime names. */
  runtime: RuntimeName | undefined
  /** The file that --bootstrap names. */
  bootstrap: string | undefined
  /** The TypeScript module that `scriptify.namespaces` leads to, if it exists. */
  module: string | undefined
  env: NodeJS.ProcessEnv
}

/** The runtime of a terminal: as requested, else that of the preload file, else that of the project; undefined if nothing decides. */
export function chooseTerminalRuntime(
  rootdir: string,
  { runtime, preload }: { runtime: RuntimeName | undefined; preload: string | undefined },
): RuntimeName | undefined {
  return runtime ?? runtimeOfFile(preload) ?? runtimeOfProject(rootdir)
}

/**
 * The runtime of a class: as requested, else node if it has a module, else php in a Composer project, or with a bootstrap
 * that is not of node; undefined if nothing decides. Throws a CliError (2) if both could have it.
 */
export function chooseClassRuntime(className: string, context: ClassContext): RuntimeName | undefined {
  const { rootdir, runtime, bootstrap, module, env } = context
  if (runtime !== undefined) return runtime
  const bootloader = namedBootloader(env)
  const mayBePhp = runtimeOfFile(bootstrap) === 'php' || runtimeOfProject(rootdir) === 'php'
  if (module !== undefined && mayBePhp) {
    throw new CliError(
      `${className} may be php (by the project or --bootstrap) or node (${module}): say which with --runtime`,
      EXIT.usage,
    )
  }
  if (module !== undefined) return 'node'
  return mayBePhp || (bootloader !== undefined && runtimeOfFile(bootloader) !== 'node') ? 'php' : undefined
}

/** The file that SCRIPTIFY_BOOTLOADER names, as it is written there; undefined if unset or empty. */
export const namedBootloader = (env: NodeJS.ProcessEnv): string | undefined =>
  env[SETTINGS.bootloader.name] || undefined

/** The language of a file by its extension; undefined for another extension. */
export function runtimeOfFile(file = ''): RuntimeName | undefined {
  const extension = extname(file)
  if (extension === '.php') return 'php'
  return /^\.[cm]?[jt]s$/.test(extension) ? 'node' : undefined
}

function runtimeOfProject(rootdir: string): RuntimeName | undefined {
  const has = (file: string) => existsSync(join(rootdir, file))
  if (has('composer.json') || has('vendor/autoload.php')) return 'php'
  return has('package.json') ? 'node' : undefined
}
