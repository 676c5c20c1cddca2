import { hash } from 'node:crypto'
import { AppError } from '@latchkey/shared/app-error.ts'
import { type Clock, toNumericDate } from '@latchkey/shared/clock.ts'
import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import { findProperty, INTERNAL_PROPERTY_PREFIX, type User } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import { tooManyRequests } from '../limits/counters.ts'

export interface GuessTotalDependencies {
  transaction: Database['transaction']
  usersIn: (db: Queryable) => Pick<UserRepository, 'lockAndFind' | 'setProperty'>
  clock: Clock
}

/** The wrong codes behind a user's present password. */
interface Guesses {
  count: number
  /** The time of the last one, in seconds since the epoch. */
  lastAt: number
}

export type GuessTotal = ReturnType<typeof createGuessTotal>

/** `<count> <time of the last one> <digest of the stored hash>`: a new password begins anew. */
export const GUESSES_PROPERTY = `${INTERNAL_PROPERTY_PREFIX}guesses`

/** From here on a code is accepted an hour after the last wrong one. */
const SLOW_FROM = 100
const PAUSE_SECONDS = 60 * 60
/** Three of a million codes are valid at a time for each app: this many guesses find one with a probability of 0.09 %. */
const MAX_GUESSES = 300

/**
 * Limits the wrong codes that clients unknown to the account send after one password, of all days together: the password has
 * leaked. In the end it opens nothing to such a client, and only the reset by mail sets a new one.
 */
export function createGuessTotal({ transaction, usersIn, clock }: GuessTotalDependencies) {
  /** Throws `rate_limited` before the pause is over, and `password_exposed` when the total is reached. The user is locked. */
  function requireLeft(user: User): void {
    const { count, lastAt } = guessesOf(user)
    if (count >= MAX_GUESSES)
      throw new AppError(
        'password_exposed',
        'Too many wrong codes were sent after this password; set a new one by POST /login/resetrequest, or use a recovery code or a passkey',
      )
    const retryAfterSeconds = lastAt + PAUSE_SECONDS - toNumericDate(clock())
    if (count >= SLOW_FROM && retryAfterSeconds > 0) throw tooManyRequests({ retryAfterSeconds })
  }

  async function add(userid: string, isKnown: (user: User) => boolean): Promise<void> {
    await transaction(async (db) => {
      const users = usersIn(db)
      const user = await users.lockAndFind(userid)
      if (!user || isKnown(user)) return
      const value = `${guessesOf(user).count + 1} ${toNumericDate(clock())} ${digestOf(user)}`
      await users.setProperty(userid, GUESSES_PROPERTY, value)
    })
  }

  return {
    /**
     * Runs an attempt with a code, which calls `requireLeft` with the locked user, and counts it when the code is refused; nothing of
     * it for a client that `isKnown` to the user.
     */
    async limit<Result>(
      userid: string,
      isKnown: (user: User) => boolean,
      attempt: (requireLeft: (user: User) => void) => Promise<Result>,
    ): Promise<Result> {
      try {
        return await attempt((user) => {
          if (!isKnown(user)) requireLeft(user)
        })
      } catch (error) {
        // The transaction of the attempt is rolled back. Attempts of one account take turns from its limit on, so few are ahead.
        if (error instanceof AppError && error.code === 'second_factor_refused') await add(userid, isKnown)
        throw error
      }
    },
  }
}

function guessesOf(user: User): Guesses {
  const [count, lastAt, digest] = (findProperty(user, GUESSES_PROPERTY) ?? '').split(' ')
  return digest === digestOf(user)
    ? { count: Number(count), lastAt: Number(lastAt) }
    : { count: 0, lastAt: 0 }
}

const digestOf = ({ passwordHash }: User): string => hash('sha256', passwordHash, 'base64url').slice(0, 16)
