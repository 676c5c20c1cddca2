import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '@latchkey/shared/clock.ts'
import type { Queryable } from '@latchkey/shared/database/database.ts'
import type { OutboxDispatcher } from '@latchkey/shared/mail-outbox/dispatch-mail.ts'
import type { OutboxRepository } from '@latchkey/shared/mail-outbox/outbox-repository.ts'
import type { Sealer } from '@latchkey/shared/mail-outbox/seal-variables.ts'
import type { MailJob } from '@latchkey/shared/mail-queue/mail-job.ts'
import { fold } from '@latchkey/shared/users/fold.ts'
import { languageOf, type User } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { ResetRepository } from './reset-repository.ts'
import type { ResetSecrets } from './reset-secrets.ts'

export interface RequestResetDependencies {
  users: Pick<UserRepository, 'findByLogin'>
  transaction: <Result>(work: (transaction: Queryable) => Promise<Result>) => Promise<Result>
  resetsOf: (transaction: Queryable) => Pick<ResetRepository, 'insert' | 'closeOlder'>
  outboxOf: (transaction: Queryable) => Pick<OutboxRepository, 'insert'>
  dispatcher: Pick<OutboxDispatcher, 'dispatch' | 'discard'>
  secrets: ResetSecrets
  sealer: Pick<Sealer, 'seal'>
  ttlSeconds: number
  clock: Clock
}

export type RequestReset = ReturnType<typeof createRequestReset>

/** Where the decoy of an unknown e-mail goes: nowhere (RFC 2606), and it has expired before it is written. */
const NOBODY = { to: 'decoy@latchkey.invalid', language: 'en', expiresAt: new Date(0).toISOString() }

/**
 * Every answer is given on a stroke of so many milliseconds, which an untroubled request stays well below: a row that
 * is found is a little more work than a row that is not, and enough requests would show it.
 */
const STROKE_MS = 25

/**
 * Begins a reset for `email` and accepts its mail; returns the reset's token. An unknown e-mail and a deleted user
 * cause the same work and the same rows, and no mail. The mail goes to the address in the user's row, not to `email`.
 */
export function createRequestReset(dependencies: RequestResetDependencies) {
  const { users, transaction, resetsOf, outboxOf, dispatcher, secrets, sealer, ttlSeconds, clock } =
    dependencies

  async function request(email: string): Promise<string> {
    const found = await users.findByLogin('email', email)
    const user = found && !found.deletedAt ? found : undefined
    const now = new Date(clock())
    const expiresAt = new Date(now.getTime() + ttlSeconds * 1000)
    const id = randomUUID()
    const token = secrets.newToken()
    const code = secrets.newCode()
    const codeHash = secrets.hash(id, code)
    const variables = { code, minutes: String(Math.round(ttlSeconds / 60)), name: user?.name ?? '' }
    const job: MailJob = {
      ...addressing(user, expiresAt),
      subject: '',
      template: 'password-reset',
      variables: await sealer.seal(variables),
    }
    const mailId = await transaction(async (db) => {
      const resets = resetsOf(db)
      await resets.insert(
        {
          id,
          userid: user?.userid,
          email: fold(email),
          tokenHash: secrets.hash(id, token),
          // Nobody gets the code of a decoy, and nobody may guess it.
          codeHash: user ? codeHash : secrets.hashOfNothing(),
          expiresAt,
        },
        now,
      )
      await resets.closeOlder(fold(email), id, now)
      return outboxOf(db).insert(job, now)
    })
    if (user) dispatcher.dispatch(mailId, job)
    else dispatcher.discard(mailId)
    return token
  }

  return async (email: string): Promise<string> => {
    const begun = performance.now()
    try {
      return await request(email)
    } finally {
      await sleep(STROKE_MS - ((performance.now() - begun) % STROKE_MS))
    }
  }
}

const addressing = (
  user: User | undefined,
  expiresAt: Date,
): Pick<MailJob, 'to' | 'language' | 'expiresAt'> =>
  user?.email ? { to: user.email, language: languageOf(user), expiresAt: expiresAt.toISOString() } : NOBODY
