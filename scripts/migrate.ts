import { parseArgs } from 'node:util'
import { AppError } from '@latchkey/shared/app-error.ts'
import { createMigrator, type Migrator } from '@latchkey/shared/database/migrations.ts'
import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { prepareQueue } from '@latchkey/shared/mail-queue/queue-backend.ts'
import { loadEnvironment } from '@latchkey/shared/settings/environment.ts'
import { EXIT_CONFIGURATION, parseSettings, SettingsError } from '@latchkey/shared/settings/parse-settings.ts'

const USAGE = `Usage: npm run migrate [-- <up | down [--steps n] | status>]

  up               apply what is pending (the default); where the queue is kept in PostgreSQL, BullMQ's tables too
  down --steps n   take back the newest n migrations, 1 by default: data in dropped tables are lost
  status           list the migrations and when each was applied

The database is the one that DATABASE_URL names, the queue the one that QUEUE_URL names (DATABASE_URL when unset).
`

const COMMANDS: Record<string, (migrator: Migrator, steps: number) => Promise<string[]>> = {
  up: async (migrator) => (await migrator.up()).map((name) => `applied ${name}`),
  down: async (migrator, steps) => (await migrator.down(steps)).map((name) => `took back ${name}`),
  status: async (migrator) =>
    (await migrator.status()).map(
      ({ name, appliedAt, adopted }) =>
        `${name}  ${appliedAt ? `applied ${appliedAt.toISOString()}` : 'pending'}${adopted ? ' (adopted)' : ''}`,
    ),
}

process.exitCode = await run(process.argv.slice(2))

async function run(args: string[]): Promise<number> {
  try {
    const options = { steps: { type: 'string', default: '1' }, help: { type: 'boolean' } } as const
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
    const command = COMMANDS[positionals[0] ?? 'up']
    const steps = Number(values.steps)
    if (values.help || !command || positionals.length > 1 || !Number.isInteger(steps) || steps < 1) {
      process[values.help ? 'stdout' : 'stderr'].write(USAGE)
      return values.help ? 0 : 2
    }
    return await migrate(command, steps)
  } catch (error) {
    return report(error)
  }
}

async function migrate(command: (typeof COMMANDS)[string], steps: number): Promise<number> {
  const { DATABASE_URL, QUEUE_URL } = parseSettings(
    ['DATABASE_URL', 'QUEUE_URL'],
    loadEnvironment(process.env),
  )
  return withDatabase(DATABASE_URL, async (db) => {
    const lines = await command(createMigrator(db), steps)
    if (command === COMMANDS.up) await prepareQueue(QUEUE_URL ?? DATABASE_URL)
    process.stdout.write(lines.length > 0 ? `${lines.join('\n')}\n` : 'Nothing to do.\n')
    return 0
  })
}

function report(error: unknown): number {
  if (error instanceof SettingsError) {
    process.stderr.write(`${error.message}\n`)
    return EXIT_CONFIGURATION
  }
  const isPlain = error instanceof AppError && error.code !== 'unavailable'
  const reason = isPlain && error.cause instanceof Error ? `: ${error.cause.message}` : ''
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}${reason}\n`)
  return 1
}
