import type { Database } from '@latchkey/shared/database/database.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { prepareQueue } from '@latchkey/shared/mail-queue/queue-backend.ts'
import { loadEnvironment } from '@latchkey/shared/settings/environment.ts'
import { parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import { formatTable } from './console/columns.ts'
import { parseWholeNumber } from './console/whole-number.ts'

const MOST_STEPS = 1_000

/** The schema of the database that DATABASE_URL names. */
export class Migrations {
  /** Applies what is pending; where the queue is kept in PostgreSQL, makes BullMQ's tables too. */
  async up(): Promise<void> {
    const names = await withSettings(async (db, queueUrl) => {
      const applied = await createMigrator(db).up()
      await prepareQueue(queueUrl)
      return applied
    })
    printDone('applied', names)
  }

  /** Takes back the newest migrations: what is in dropped tables is lost. */
  async down(steps = '1'): Promise<void> {
    const count = parseWholeNumber('steps', steps, 1, MOST_STEPS)
    printDone('took back', await withSettings((db) => createMigrator(db).down(count)))
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
          adopted ? 'adopted: its tables were there before' : '',
        ]),
      ),
    )
  }
}

const printDone = (done: string, names: readonly string[]): void =>
  console.log(names.length > 0 ? names.map((name) => `${done} ${name}`).join('\n') : 'Nothing to do.')

async function withSettings<Result>(
  work: (db: Database, queueUrl: string) => Promise<Result>,
): Promise<Result> {
  const { DATABASE_URL, QUEUE_URL } = parseSettings(
    ['DATABASE_URL', 'QUEUE_URL'],
    loadEnvironment(process.env),
  )
  return withDatabase(DATABASE_URL, (db) => work(db, QUEUE_URL ?? DATABASE_URL))
}
