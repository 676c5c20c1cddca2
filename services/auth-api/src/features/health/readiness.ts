import { describeSharedAccounts } from '@latchkey/shared/database/adoption/describe-differences.ts'
import type { Database } from '@latchkey/shared/database/database.ts'
import { createMigrator, type Migrator } from '@latchkey/shared/database/migrations.ts'
import type { DependencyFailures } from '@latchkey/shared/health/dependency-failures.ts'
import { createReadiness, type Readiness, rememberingSuccess } from '@latchkey/shared/health/readiness.ts'
import { checkQueue } from '@latchkey/shared/mail/queue/check-queue.ts'
import type { MailQueue } from '@latchkey/shared/mail/queue/mail-queue.ts'
import type { PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import { hasDemoUsers } from '@latchkey/shared/users/demo-users.ts'
import {
  describePublishedPasswords,
  findPublishedPasswords,
} from '@latchkey/shared/users/published-password.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { Logger } from 'pino'
import type { Config } from '../../config.ts'
import type { DatabaseClock } from '../../tokens/database-clock.ts'
import { NOT_BEFORE_LEEWAY_SECONDS } from '../../tokens/verify-token.ts'

export interface AppReadinessDependencies {
  db: Database
  passwords: PasswordHasher
  queue: Pick<MailQueue, 'ping'>
  logger: Pick<Logger, 'warn'>
  /** Called when the service must not run on this database. */
  refuse?: ((reason: Error) => void) | undefined
  failures: DependencyFailures
  localNow: Clock
  synchroniseClock: DatabaseClock['synchronise']
}

const QUEUE_CHECK_HOLDS_MS = 5_000

/** The dependencies that auth-api needs before it takes requests. */
export function createAppReadiness(config: Config, dependencies: AppReadinessDependencies): Readiness {
  const { db, queue, failures, localNow, synchroniseClock } = dependencies
  const judgeDatabase = createDatabaseCheck(config, dependencies)
  let clockOutcome = 'ok'
  return createReadiness(
    {
      async database() {
        const { aheadMs, busy } = await synchroniseClock(db)
        clockOutcome = describeClock(aheadMs)
        const outcome = await judgeDatabase()
        return outcome === 'ok' && busy ? busy : outcome
      },
    },
    {
      optional: {
        // Logins succeed without the queue, and mail waits in the outbox.
        queue: rememberingSuccess(checkQueue(queue), QUEUE_CHECK_HOLDS_MS, localNow),
        // Other replicas refuse the tokens of one that is ahead.
        clock: async () => clockOutcome,
      },
      failures,
      localNow,
    },
  )
}

function describeClock(aheadMs: number): string {
  if (Math.abs(aheadMs) <= 1_000 * NOT_BEFORE_LEEWAY_SECONDS) return 'ok'
  return `${aheadMs > 0 ? 'ahead of' : 'behind'} the clock of the database; synchronise both (NTP)`
}

/**
 * Creates the check of the database: every migration of this release is applied, no account is shared, and none has a
 * published password. Once it has passed, it reads nothing more.
 */
function createDatabaseCheck(config: Config, dependencies: AppReadinessDependencies) {
  const { db, logger, refuse } = dependencies
  const migrator = createMigrator(db)
  let isAccepted = false

  /** Ends the service where `fault` says why it must not run. */
  function refuseFor(fault: string | undefined): void {
    if (fault === undefined) return
    const reason = new Error(fault)
    refuse?.(reason)
    throw reason
  }

  return async (): Promise<string> => {
    if (isAccepted) return 'ok'
    refuseFor(await findSharedAccountsFault(migrator))
    const isMigrated = (await migrator.status()).every(({ appliedAt }) => appliedAt !== undefined)
    if (!isMigrated) return 'migrations pending'
    refuseFor(await findPublishedPasswordsFault(config, dependencies))
    const text = await db.dialect.findTextFault?.(db)
    isAccepted = true
    if (text) logger.warn(`${text.problem}: two accounts can share a name. ${SEE_STATUS}`)
    return 'ok'
  }
}

const SEE_STATUS = '`npm run migrate -- status` counts them and says what to do'

/** Describes accounts that one login opens. */
async function findSharedAccountsFault(migrator: Migrator): Promise<string | undefined> {
  const shared = await migrator.findSharedAccounts()
  return shared.length === 0 ? undefined : describeSharedAccounts(shared)
}

/** Describes accounts whose password everybody can read. */
async function findPublishedPasswordsFault(
  { environment }: Config,
  { db, passwords }: AppReadinessDependencies,
): Promise<string | undefined> {
  if (hasDemoUsers(environment)) return undefined
  const accounts = await findPublishedPasswords({ users: createUserRepository(db), passwords })
  return accounts.length === 0 ? undefined : describePublishedPasswords(accounts, environment)
}
