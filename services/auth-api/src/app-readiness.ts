import type { Clock } from '@latchkey/shared/clock.ts'
import { describeSharedAccounts } from '@latchkey/shared/database/adoption/describe-differences.ts'
import type { Database } from '@latchkey/shared/database/database.ts'
import { createMigrator, type Migrator } from '@latchkey/shared/database/migrations.ts'
import { createReadiness, type Readiness, rememberingSuccess } from '@latchkey/shared/health/readiness.ts'
import type { MailQueue } from '@latchkey/shared/mail-queue/mail-queue.ts'
import type { PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { hasDemoUsers } from '@latchkey/shared/users/demo-users.ts'
import {
  describePublishedPasswords,
  findPublishedPasswords,
} from '@latchkey/shared/users/published-password.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { Config } from './config.ts'
import { createDatabaseCheck } from './features/health/check-database.ts'

export interface AppReadinessDependencies {
  db: Database
  passwords: PasswordHasher
  queue: Pick<MailQueue, 'ping'>
  /** Called when the service must not run on this database. */
  refuse?: (reason: Error) => void
  clock: Clock
}

/** What auth-api needs before it takes requests. */
export function createAppReadiness(config: Config, dependencies: AppReadinessDependencies): Readiness {
  const { db, queue, clock } = dependencies
  const migrator = createMigrator(db)
  return createReadiness(
    {
      database: createDatabaseCheck(db, {
        migrator,
        acceptSchema: () => refuseSharedAccounts(migrator, dependencies),
        acceptUsers: () => refuseDemoUsers(config, dependencies),
      }),
      // An address that has never answered may be wrong. Later, mail waits in the outbox while the queue is unavailable.
      queue: rememberingSuccess(async () => (await queue.ping()) ?? 'ok', Number.POSITIVE_INFINITY, clock),
    },
    clock,
  )
}

async function refuseSharedAccounts(migrator: Migrator, { refuse }: AppReadinessDependencies): Promise<void> {
  const shared = await migrator.findSharedAccounts()
  if (shared.length === 0) return
  const reason = new Error(describeSharedAccounts(shared))
  refuse?.(reason)
  throw reason
}

async function refuseDemoUsers(
  { environment }: Config,
  { db, passwords, refuse }: AppReadinessDependencies,
): Promise<void> {
  if (hasDemoUsers(environment)) return
  const accounts = await findPublishedPasswords({ users: createUserRepository(db), passwords })
  if (accounts.length === 0) return
  const reason = new Error(describePublishedPasswords(accounts, environment))
  refuse?.(reason)
  throw reason
}
