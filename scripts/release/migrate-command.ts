import { parseArgs } from 'node:util'
import { errorMessage } from '@latchkey/shared/errors/app-error.ts'
import { ExtensionError } from '@latchkey/shared/extensions/find-extensions.ts'
import { EXIT_CONFIGURATION, SettingsError } from '@latchkey/shared/settings/settings-error.ts'
import { ArgumentError } from '../../admin/fault.ts'
import type { Migrations } from '../../admin/migrations.ts'

const USAGE = `Usage: npm run migrate [-- <up [--adopt] [--dry-run] | down [--steps n] | status>]

  up               apply pending migrations (the default); if PostgreSQL holds the queue, also create BullMQ's tables
  up --adopt       before that, bring tables that another program created to the specification
  up --dry-run     print what up, or up --adopt, would do
  down --steps n   revert the newest n migrations, 1 by default; the data in dropped tables is lost
  status           list the migrations, when each was applied, and why they would refuse to run

DATABASE_URL names the database, QUEUE_URL the queue (DATABASE_URL when unset).
`

const OPTIONS = {
  steps: { type: 'string', default: '1' },
  adopt: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  help: { type: 'boolean' },
} as const

interface Values {
  steps: string
  adopt?: boolean | undefined
  'dry-run'?: boolean | undefined
}

/** The commands, which an admin can also call with `scriptify run Migrations::up`. */
const COMMANDS: Record<string, (migrations: Migrations, values: Values) => Promise<void>> = {
  up: (migrations, { adopt, 'dry-run': dryRun }) =>
    migrations.up(...(adopt ? ['--adopt'] : []), ...(dryRun ? ['--dry-run'] : [])),
  down: (migrations, { steps }) => migrations.down(steps),
  status: (migrations) => migrations.status(),
}

/** Runs the command; returns its exit code. */
export async function runMigrate(args: string[]): Promise<number> {
  try {
    const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true })
    if (values.help) {
      process.stdout.write(USAGE)
      return 0
    }
    const command = COMMANDS[positionals[0] ?? 'up']
    const isOnlyUp = (values.adopt || values['dry-run']) && (positionals[0] ?? 'up') !== 'up'
    if (!command || positionals.length > 1 || isOnlyUp) {
      process.stderr.write(USAGE)
      return 2
    }
    // Loads the drivers of each database and the queue, which the help and a mistyped command need not wait for.
    const { Migrations } = await import('../../admin/migrations.ts')
    await command(new Migrations(), values)
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
  return error instanceof SettingsError || error instanceof ExtensionError ? EXIT_CONFIGURATION : 1
}
