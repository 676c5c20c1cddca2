import { hash } from 'node:crypto'
import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { type Clock, toNumericDate } from '@latchkey/shared/time/clock.ts'
import { findProperty, INTERNAL_PROPERTY_PREFIX, type User } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import { tooManyRequests } from '../../limits/counters.ts'

export interface GuessTotalDependencies {
  transaction: Database['transaction']
  usersIn: (db: Queryable) => Pick<UserRepository, 'lockAndFind' | 'setProperty'>
  localNow: Clock
}

/** The wrong codes after a user's present password, and the addresses of right ones. */
interface Guesses {
  count: number
  /** The time of the last one, in seconds since the epoch. */
  lastAt: number
  /** Digests of addresses, the oldest first. */
  known: readonly string[]
}

export type GuessTotal = ReturnType<typeof createGuessTotal>

/** `<digest of the stored hash> <count> <time of the last one> <address> …`: a new password begins anew. */
const GUESSES_PROPERTY = `${INTERNAL_PROPERTY_PREFIX}guesses`
/** A property has room for this many. */
const MAX_ADDRESSES = 16
/** The count from which a code is accepted only an hour after the last wrong one. */
const SLOW_FROM = 100
const PAUSE_SECONDS = 60 * 60
/** Three of a million codes are valid at a time for each app: this many guesses find one with a probability of 0.09 %. */
const MAX_GUESSES = 300

/**
 * Limits the wrong codes after one password, of all days together, from addresses that never sent a right one: the password has
 * leaked. In the end it opens nothing to them, and only the reset by mail sets a new one. The count is in the database, since it
 * outlives a Redis and every process.
 */
export function createGuessTotal({ transaction, usersIn, localNow }: GuessTotalDependencies) {
  const change = (userid: string, work: (guesses: Guesses) => Guesses | undefined): Promise<boolean> =>
    transaction(async (db) => {
      const users = usersIn(db)
      const user = await users.lockAndFind(userid)
      const changed = user && work(guessesOf(user))
      if (!user || !changed) return false
      const { count, lastAt, known } = changed
      const value = [digestOf(user.passwordHash), count, lastAt, ...known].join(' ')
      await users.setProperty(userid, GUESSES_PROPERTY, value)
      return true
    })

  /** Counts a code of an unknown address; false for a known one. Throws `rate_limited` and `password_exposed`. */
  const take = (userid: string, address: string): Promise<boolean> =>
    change(userid, ({ count, lastAt, known }) => {
      if (known.includes(address)) return undefined
      if (count >= MAX_GUESSES) throw passwordExposed()
      const now = toNumericDate(localNow())
      const retryAfterSeconds = lastAt + PAUSE_SECONDS - now
      if (count >= SLOW_FROM && retryAfterSeconds > 0) throw tooManyRequests({ retryAfterSeconds })
      return { count: count + 1, lastAt: now, known }
    })

  const giveBack = (userid: string, address?: string): Promise<boolean> =>
    change(userid, ({ count, known, ...rest }) => ({
      ...rest,
      count: Math.max(count - 1, 0),
      known: address === undefined ? known : [...known, address].slice(-MAX_ADDRESSES),
    }))

  return {
    /** Runs an attempt with a code. It is counted before it is judged, and given back unless the code was wrong. */
    async limit<Result>(userid: string, from: string, attempt: () => Promise<Result>): Promise<Result> {
      const address = digestOf(`${userid} ${from}`).slice(0, 8)
      if (!(await take(userid, address))) return attempt()
      let result: Result
      try {
        result = await attempt()
      } catch (error) {
        if (!(error instanceof AppError && error.code === 'second_factor_refused')) await giveBack(userid)
        throw error
      }
      await giveBack(userid, address)
      return result
    },
  }
}

function guessesOf(user: User): Guesses {
  const [digest, count, lastAt, ...known] = (findProperty(user, GUESSES_PROPERTY) ?? '').split(' ')
  if (digest !== digestOf(user.passwordHash)) return { count: 0, lastAt: 0, known: [] }
  return { count: Number(count), lastAt: Number(lastAt), known }
}

const digestOf = (text: string): string => hash('sha256', text, 'base64url').slice(0, 16)

const passwordExposed = () =>
  new AppError('password_exposed', 'Too many wrong codes were sent after this password')
