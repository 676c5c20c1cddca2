import { fileURLToPath } from 'node:url'

/** Keeps Node's own warnings out of what the project's code writes to stderr. */
export const QUIET = [
  '--disable-warning=ExperimentalWarning',
  // A project without "type" in its package.json would be warned about at every start.
  '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON',
]

/** Keeps what Node compiles in the home of the user, for a faster start. */
export const COMPILE_CACHE = [
  '--require',
  fileURLToPath(new URL('../../../bin/compile-cache.cjs', import.meta.url)),
]
