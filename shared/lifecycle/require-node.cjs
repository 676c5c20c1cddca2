const { existsSync } = require('node:fs')
const { join } = require('node:path')

// Loaded before anything in TypeScript, which an older Node cannot read.
const { versions, execPath } = process
if (Number(versions.node.split('.')[0]) < 24) {
  // An optional package brings it: `--omit=optional` leaves it out, and not every system has one.
  const advice = existsSync(join(__dirname, '../../node_modules/.bin/node'))
    ? 'start it by npm or npx, which use the Node that `npm ci` has installed'
    : 'run `npm ci --include=optional`, which installs Node 24 for Linux and for macOS on Intel, or install Node 24 yourself'
  console.error(`Latchkey needs Node 24 or newer, and this is ${versions.node} (${execPath}): ${advice}`)
  process.exit(1)
}
