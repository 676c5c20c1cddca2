import { describeSharedAccounts } from '@latchkey/shared/database/adoption/describe-differences.ts'
import type { Database } from '@latchkey/shared/database/database.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { createMails } from '@latchkey/shared/mail/outbox/accept-mail.ts'
import { createNotices, type SendNotice } from '@latchkey/shared/mail/outbox/mail-notices.ts'
import { MAIL_TEMPLATES } from '@latchkey/shared/mail/outbox/mail-templates.ts'
import { createSealer } from '@latchkey/shared/mail/outbox/seal-variables.ts'
import { createPasswordHasher, type PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { type PasswordPolicy, POLICY_SETTINGS } from '@latchkey/shared/passwords/password-policy.ts'
import { loadEnvironment } from '@latchkey/shared/settings/environment.ts'
import { parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import type { Environment } from '@latchkey/shared/settings/setting.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'

/** The number of hashes that may wait for a thread: more than a batch of an import. */
const HASH_QUEUE = 100_000

/** The dependencies of the commands on users. */
export interface AdminContext {
  db: Database
  policy: PasswordPolicy
  hashPassword: PasswordHasher['hash']
  /** The schemes of stored hashes with which a login succeeds. */
  acceptedSchemes: readonly string[]
  localNow: Clock
  /** Accepts a notice to a user; mailer-worker finds it in the outbox. */
  notify: SendNotice
}

/** Runs `work` with the database and the password policy of the settings; closes what it opened. */
export async function withAdminContext<Result>(
  work: (context: AdminContext) => Promise<Result>,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Result> {
  const given = loadEnvironment(environment)
  const settings = parseSettings(
    [
      'DATABASE_URL',
      'PASSWORD_HASH',
      'PASSWORD_HASH_ACCEPTED',
      'PASSWORD_HASH_SHARED',
      'HASH_CONCURRENCY',
      ...POLICY_SETTINGS,
    ],
    given,
  )
  const notify = createNotify(given)
  const scheme = settings.PASSWORD_HASH
  const accepted = [...settings.PASSWORD_HASH_ACCEPTED, ...settings.PASSWORD_HASH_SHARED]
  const hasher = createPasswordHasher({
    scheme,
    accepted,
    concurrency: settings.HASH_CONCURRENCY,
    queueLimit: HASH_QUEUE,
  })
  try {
    return await withDatabase(settings.DATABASE_URL, async (db) => {
      const shared = await createMigrator(db).findSharedAccounts()
      if (shared.length > 0) throw new Error(describeSharedAccounts(shared))
      return work({
        db,
        policy: settings,
        hashPassword: (password) => hasher.hash(password),
        acceptedSchemes: [scheme, ...accepted],
        localNow: Date.now,
        notify,
      })
    })
  } finally {
    await hasher.close()
  }
}

/** The queue is not opened for one mail: the sweep of mailer-worker dispatches it. */
const noDispatch = { dispatch: () => undefined, discard: () => undefined }

/** Creates the function that accepts notices; without MAIL_SECRET it only says that there are none. */
export function createNotify(environment: Environment): SendNotice {
  if (!environment.MAIL_SECRET)
    return async () => console.error('The user gets no mail about this: MAIL_SECRET is not set.')
  const settings = parseSettings(['MAIL_SECRET', 'NOTICE_ROLES_CHANGED'], environment)
  const sealer = createSealer(settings.MAIL_SECRET)
  const mails = createMails({ templates: MAIL_TEMPLATES, sealer, dispatcher: noDispatch, localNow: Date.now })
  const send = createNotices(mails, Date.now)
  const isOff = settings.NOTICE_ROLES_CHANGED === 'off'
  return async (transaction, user, notice, origin) => {
    if (isOff && notice.template === 'roles-changed') return
    await send(transaction, user, notice, origin)
  }
}
