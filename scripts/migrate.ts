import { parseArgs } from 'node:util'
import { errorMessage } from '@latchkey/shared/error-message.ts'
import { EXIT_CONFIGURATION, SettingsError } from '@latchkey/shared/settings/settings-error.ts'
import { ArgumentError } from '../admin/console/whole-number.ts'
import { Migrations } from '../admin/migrations.ts'

const USAGE = `Usage: npm run migrate [-- <up | down [--steps n] | status>]

  up               apply pending migrations (the default); if PostgreSQL holds the queue, also create BullMQ's tables
  down --steps n   revert the newest n migrations, 1 by default; the data in dropped tables is lost
  status           list the migrations and when each was applied

DATABASE_URL names the database, QUEUE_URL the queue (DATABASE_URL when unset).
`

/** As an admin calls them with `scriptify run Migrations::up`. */
const COMMANDS: Record<string, (migrations: Migrations, steps: string) => Promise<void>> = {
  up: (migrations) => migrations.up(),
  down: (migrations, steps) => migrations.down(steps),
  status: (migrations) => migrations.status(),
}

process.exitCode = await run(process.argv.slice(2))

async function run(args: string[]): Promise<number> {
  try {
    const options = { steps: { type: 'string', default: '1' }, help: { type: 'boolean' } } as const
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
    if (values.help) {
      process.stdout.write(USAGE)
      return 0
    }
    const command = COMMANDS[positionals[0] ?? 'up']
    if (!command || positionals.length > 1) {
      process.stderr.write(USAGE)
      return 2
    }
    await command(new Migrations(), values.steps)
    return 0
  } catch (error) {
    return report(error)
  }
}

function report(error: unknown): number {
  const message = errorMessage(error)
  process.stderr.write(`${message}\n`)
  if (error instanceof ArgumentError) {
    process.stderr.write(`\n${USAGE}`)
    return 2
  }
  return error instanceof SettingsError ? EXIT_CONFIGURATION : 1
}
