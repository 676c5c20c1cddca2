// Loaded before anything in TypeScript, which an older Node cannot read.
const { versions, execPath } = process
if (Number(versions.node.split('.')[0]) < 24) {
  console.error(
    `Latchkey needs Node 24 or newer, and this is ${versions.node} (${execPath}); \`npm ci\` installs it for npm and npx`,
  )
  process.exit(1)
}
