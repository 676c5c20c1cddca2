/** Keeps Node's own warnings out of what the project's code writes to stderr. */
export const QUIET = [
  '--disable-warning=ExperimentalWarning',
  // A project without "type" in its package.json would be warned about at every start.
  '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON',
]
