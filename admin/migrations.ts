import { AppError } from '@latchkey/shared/app-error.ts'
import type { Database } from '@latchkey/shared/database/database.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { prepareQueue } from '@latchkey/shared/mail-queue/queue-backend.ts'
import { loadEnvironment } from '@latchkey/shared/settings/environment.ts'
import { findSetting, parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import { formatTable } from './console/columns.ts'
import { parseWholeNumber } from './console/whole-number.ts'

const MAX_STEPS = 1_000

/** The schema of the database in DATABASE_URL. */
export class Migrations {
  /** Applies pending migrations. If PostgreSQL holds the queue, also creates BullMQ's tables. */
  async up(): Promise<void> {
    const names = await withSettings(async (db, queueUrl) => {
      const applied = await createMigrator(db).up()
      if (queueUrl) await prepareQueue(queueUrl)
      return applied
    })
    print(names.map((name) => `applied ${name}`))
  }

  /** Reverts the newest migrations. The data in dropped tables is lost. */
  async down(steps = '1'): Promise<void> {
    const count = parseWholeNumber('steps', steps, 1, MAX_STEPS)
    const names = await withSettings((db) => createMigrator(db).down(count))
    print(names.map((name) => `reverted ${name}`))
  }

  /** Lists the migrations and when each was applied. */
  async status(): Promise<void> {
    const migrations = await withSettings((db) => createMigrator(db).status())
    console.log(
      formatTable(
        ['migration', 'applied', 'note'],
        migrations.map(({ name, appliedAt, adopted }) => [
          name,
          appliedAt?.toISOString() ?? 'pending',
          adopted ? 'adopted: its tables already existed' : '',
        ]),
      ),
    )
  }
}

const print = (lines: readonly string[]): void =>
  console.log(lines.length > 0 ? lines.join('\n') : 'Nothing to do.')

async function withSettings<Result>(
  work: (db: Database, queueUrl: string | undefined) => Promise<Result>,
): Promise<Result> {
  const environment = loadEnvironment(process.env)
  const { DATABASE_URL } = parseSettings(['DATABASE_URL'], environment)
  const queueUrl = findSetting('QUEUE_URL', environment)
  try {
    return await withDatabase(DATABASE_URL, (db) => work(db, queueUrl))
  } catch (error) {
    throw withReason(error)
  }
}

/** An operator sees what the driver reported; clients of auth-api do not. */
function withReason(error: unknown): unknown {
  // The message of `unavailable` already contains the reason.
  const isPlain = error instanceof AppError && error.code !== 'unavailable'
  if (!isPlain || !(error.cause instanceof Error)) return error
  return new Error(`${error.message}: ${error.cause.message}`, { cause: error })
}
