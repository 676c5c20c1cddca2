import { existsSync } from 'node:fs'
import { extname, join } from 'node:path'

/** Decides the language of a terminal: what was asked for, else the preload's, else the project's. */
export function chooseRuntime(
  rootdir: string,
  { runtime, preload }: { runtime?: 'php' | 'node' | undefined; preload?: string | undefined },
): 'php' | 'node' {
  if (runtime !== undefined) return runtime
  const extension = preload === undefined ? '' : extname(preload)
  if (extension === '.php') return 'php'
  if (/^\.[cm]?[jt]s$/.test(extension)) return 'node'
  const has = (file: string) => existsSync(join(rootdir, file))
  if (has('composer.json') || has('vendor/autoload.php')) return 'php'
  return has('package.json') ? 'node' : 'php'
}
