import type { Clock } from '@latchkey/shared/clock.ts'
import { describeSharedAccounts } from '@latchkey/shared/database/adoption/describe-differences.ts'
import type { Database } from '@latchkey/shared/database/database.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { createPasswordHasher, type PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { type PasswordPolicy, POLICY_SETTINGS } from '@latchkey/shared/passwords/password-policy.ts'
import { loadEnvironment } from '@latchkey/shared/settings/environment.ts'
import { parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import { acceptedSchemes, hashScheme } from '@latchkey/shared/settings/password-settings.ts'

/** The number of hashes that may wait for a thread: more than a batch of an import. */
const HASH_QUEUE = 100_000

/** The dependencies of the commands on users. */
export interface AdminContext {
  db: Database
  policy: PasswordPolicy
  hashPassword: PasswordHasher['hash']
  /** The schemes of stored hashes with which a login succeeds. */
  acceptedSchemes: readonly string[]
  clock: Clock
}

/** Runs `work` with the database and the password policy of the settings; closes what it opened. */
export async function withAdminContext<Result>(
  work: (context: AdminContext) => Promise<Result>,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Result> {
  const settings = parseSettings(
    ['DATABASE_URL', ...hashScheme.names, ...acceptedSchemes.names, 'HASH_CONCURRENCY', ...POLICY_SETTINGS],
    loadEnvironment(environment),
  )
  const scheme = hashScheme.derive(settings)
  const accepted = acceptedSchemes.derive(settings)
  let hasher: PasswordHasher | undefined
  // Created on demand: its threads cost memory and time, and most commands hash nothing.
  const acquireHasher = () => {
    hasher ??= createPasswordHasher({
      scheme,
      accepted,
      concurrency: settings.HASH_CONCURRENCY,
      queueLimit: HASH_QUEUE,
    })
    return hasher
  }
  const hashPassword: PasswordHasher['hash'] = (password) => acquireHasher().hash(password)
  try {
    return await withDatabase(settings.DATABASE_URL, async (db) => {
      const shared = await createMigrator(db).findSharedAccounts()
      if (shared.length > 0) throw new Error(describeSharedAccounts(shared))
      return work({
        db,
        policy: settings,
        hashPassword,
        acceptedSchemes: [scheme, ...accepted],
        clock: Date.now,
      })
    })
  } finally {
    await hasher?.close()
  }
}
