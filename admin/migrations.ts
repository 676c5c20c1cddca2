import { describeDifferences, describePlan } from '@latchkey/shared/database/adoption/describe-differences.ts'
import { requireNoDifferences } from '@latchkey/shared/database/adoption/inspect-database.ts'
import type { Database } from '@latchkey/shared/database/database.ts'
import { createMigrator, type MigrationStatus, type Migrator } from '@latchkey/shared/database/migrations.ts'
import { prepareServiceLogins, type ServiceUrls } from '@latchkey/shared/database/service-logins.ts'
import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { findQueueFaults, prepareQueue } from '@latchkey/shared/mail/queue/queue-backend.ts'
import { loadEnvironment } from '@latchkey/shared/settings/environment.ts'
import { findSetting, parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import { type AccountCount, createManyUsersRepository } from '@latchkey/shared/users/many-users-repository.ts'
import { printableLines } from '@latchkey/text/printable.ts'
import { formatTable } from './console/format-table.ts'
import { ArgumentError, parseWholeNumber } from './fault.ts'

const MAX_STEPS = 1_000

/** A search for alike names reads every user. */
const STATEMENT_TIMEOUT_MS = 600_000

const UP_OPTIONS = ['--adopt', '--dry-run']

/** The schema of the database in DATABASE_URL. */
export class Migrations {
  /**
   * Applies pending migrations. If PostgreSQL holds the queue, also creates BullMQ's tables. If services have logins in
   * AUTH_API_DATABASE_URL and MAILER_WORKER_DATABASE_URL, gives these the rights that they need. With `--adopt`, first
   * brings tables that another program created to the specification; with `--dry-run`, prints what it would do.
   */
  async up(...options: string[]): Promise<void> {
    const unknown = options.find((option) => !UP_OPTIONS.includes(option))
    if (unknown !== undefined)
      throw new ArgumentError(`Migrations::up knows ${UP_OPTIONS.join(' and ')}, not ${unknown}`)
    const adopt = options.includes('--adopt')
    await withSettings(async (db, { queueUrl, ownerUrl, serviceUrls }) => {
      const migrator = createMigrator(db, undefined, { onWait: printWait })
      requireNoDifferences(queueUrl ? await findQueueFaults(queueUrl) : [], false)
      await warn(migrator)
      if (options.includes('--dry-run')) return printPlan(migrator, adopt)
      print((await migrator.up({ adopt })).map((name) => `applied ${name}`))
      if (queueUrl) await prepareQueue(queueUrl)
      await prepareServiceLogins(db, ownerUrl, serviceUrls)
    })
  }

  /** Reverts the newest migrations. The data in dropped tables is lost. */
  async down(steps = '1'): Promise<void> {
    const count = parseWholeNumber('steps', steps, 1, MAX_STEPS)
    const names = await withSettings((db) => createMigrator(db, undefined, { onWait: printWait }).down(count))
    print(names.map((name) => `reverted ${name}`))
  }

  /**
   * Lists the migrations and when each was applied, counts users by the kind of their hash, and shows why migrations would refuse
   * to run: how the database differs from the specification, and which rights are missing. Fails where something is found.
   */
  async status(): Promise<void> {
    const differences = await withSettings(async (db, { queueUrl }) => {
      const migrator = createMigrator(db)
      printMigrations(await migrator.status())
      printAccounts(await createManyUsersRepository(db).countByForm())
      await warn(migrator)
      return [...(await migrator.inspect()), ...(queueUrl ? await findQueueFaults(queueUrl) : [])]
    })
    if (differences.length === 0) return
    console.log(
      `\nThe database cannot be used as it is:\n\n${printableLines(describeDifferences(differences))}`,
    )
    throw new Error(`Migrations refuse to run on this database. Number of differences: ${differences.length}`)
  }
}

const printWait = (text: string): void => console.error(`The migration ${text}`)

async function warn(migrator: Migrator): Promise<void> {
  const warning = await migrator.findWarning()
  if (warning !== undefined) console.error(`Warning: ${printableLines(warning)}`)
}

const printMigrations = (migrations: readonly MigrationStatus[]): void =>
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

function printAccounts(counts: readonly AccountCount[]): void {
  if (counts.length === 0) return
  const rows = counts.map(({ form, users }) => [form, String(users)])
  console.log(`\n${formatTable(['stored', 'users'], rows)}`)
}

async function printPlan(migrator: Migrator, adopt: boolean): Promise<void> {
  const differences = await migrator.inspect()
  requireNoDifferences(differences, adopt)
  const pending = (await migrator.status()).filter(({ appliedAt }) => !appliedAt)
  const plan = describePlan(
    differences,
    pending.map(({ name }) => name),
  )
  console.log(printableLines(plan) || 'Nothing to do.')
}

const print = (lines: readonly string[]): void =>
  console.log(lines.length > 0 ? lines.join('\n') : 'Nothing to do.')

interface Addresses {
  ownerUrl: string
  queueUrl: string | undefined
  serviceUrls: ServiceUrls
}

async function withSettings<Result>(
  work: (db: Database, addresses: Addresses) => Promise<Result>,
): Promise<Result> {
  const environment = loadEnvironment(process.env)
  const { DATABASE_URL: ownerUrl, ...serviceUrls } = parseSettings(
    ['DATABASE_URL', 'AUTH_API_DATABASE_URL', 'MAILER_WORKER_DATABASE_URL'],
    environment,
  )
  const queueUrl = findSetting('QUEUE_URL', environment)
  try {
    return await withDatabase(ownerUrl, (db) => work(db, { ownerUrl, queueUrl, serviceUrls }), {
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    })
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
