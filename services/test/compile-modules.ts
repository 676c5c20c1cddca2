import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..')
const SERVICES = ['auth-api', 'mailer-worker', 'scriptify'].map((name) => `services/${name}/src`)

/**
 * A Vitest global set-up: compiles the services for the run that has no compile cache yet. A process adds to the cache when
 * it ends, so that all of the first ones, which start together, would compile the same.
 */
export default function compileModules(): void {
  const { NODE_COMPILE_CACHE = '' } = process.env
  if (existsSync(NODE_COMPILE_CACHE)) return
  const folders = [...SERVICES, 'shared', 'admin', 'scripts', 'extensions']
  execFileSync(process.execPath, ['scripts/images/compile-modules.ts', ...folders], { cwd: ROOT })
}
