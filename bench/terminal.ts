// The rows of scriptify alone, without a database: `npm run bench:terminal [-- --rounds 7]`.
import { parseArgs } from 'node:util'
import { measureCommands } from './rows/command-row.ts'
import { measureTerminals } from './rows/terminal-row.ts'
import { hasPhp } from './run/installed.ts'
import { printHosts } from './run/report.ts'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '7' } } })
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) {
  console.error(`--rounds must be a whole number, at least 1, not ${values.rounds}`)
  process.exit(64)
}
if (!hasPhp) console.log('There is no php 8.3 or newer; only node is measured')
printHosts('terminal', await measureTerminals(rounds))
printHosts('command', await measureCommands(2 * rounds + 1))
