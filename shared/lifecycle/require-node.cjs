const { existsSync } = require('node:fs')
const { join } = require('node:path')

// Loaded before anything in TypeScript, which an older Node cannot read.
const { versions, execPath } = process
if (Number(versions.node.split('.')[0]) < 24) {
  const modules = join(__dirname, '../../node_modules')
  /** @param {string} path */
  const has = (path) => existsSync(join(modules, path))
  // An optional package brings it: `--omit=optional` leaves it out, and not every system has one.
  let advice =
    'run `npm ci --include=optional`, which installs Node 24 for Linux and for macOS on Intel, or install Node 24 yourself'
  // Before version 11 npm removes the link with the packages of other systems; with ignore-scripts `postinstall` cannot help.
  if (has(`node-${process.platform}-${process.arch}`))
    advice = 'run `npm rebuild --ignore-scripts`, which links Node 24'
  if (has('.bin/node')) advice = 'start it by npm or npx, which use the Node that `npm ci` has installed'
  console.error(`Latchkey needs Node 24 or newer, and this is ${versions.node} (${execPath}): ${advice}`)
  process.exit(1)
}
