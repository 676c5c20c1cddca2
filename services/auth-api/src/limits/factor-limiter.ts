import { AppError } from '@latchkey/shared/app-error.ts'
import { CHALLENGE_SECONDS } from '../second-factor/challenges.ts'
import { type Counted, tooManyRequests } from './counters.ts'
import { createFailureLimiter, type FailureLimiterOptions } from './failure-limiter.ts'
import type { KnownAddresses } from './known-addresses.ts'
import { addressKey, type LimitedRequest, pairKey } from './limit-keys.ts'

export interface FactorLimiterOptions extends Omit<FailureLimiterOptions, 'name' | 'countedErrors'> {
  knownAddresses: KnownAddresses
}

/** An attempt to show a second factor. */
export interface LimitedAttempt {
  userid: string
  /** The `jti` of the challenge that it answers. */
  challenge?: string | undefined
  /** Whether a code of six digits is sent, which can be guessed. */
  isGuessable: boolean
}

/**
 * Runs an attempt to show a second factor unless too many were refused, and counts it when it is. Throws `rate_limited`, and
 * `challenge_refused` when the challenge has had too many attempts.
 */
export type LimitFactors = <Result>(
  request: LimitedRequest,
  attempt: LimitedAttempt,
  work: () => Promise<Result>,
) => Promise<Result>

const DAY_SECONDS = 24 * 60 * 60
const MAX_OF_CHALLENGE = 5
/**
 * Of a million codes three are valid at a time for each of a user's apps: in a day of guesses one is right with a probability
 * of 0.03 %, with three apps 0.09 %.
 */
const MAX_CODES_A_DAY = 100

/**
 * Limits refused factors like failed logins, and the guessable codes of an account in a day: of all clients together that
 * have never succeeded, and of each one that has. So an attacker who knows the password does not lock the owner out: the owner
 * can log in from a known address, and from anywhere by a recovery code.
 */
export function createFactorLimiter({ knownAddresses, ...options }: FactorLimiterOptions): LimitFactors {
  const { accountKey, createCounter } = options
  const limitFailures = createFailureLimiter({
    ...options,
    name: 'factor',
    countedErrors: ['second_factor_refused', 'passkey_refused'],
  })
  const ofDay = createCounter('factor-day', DAY_SECONDS)
  const ofChallenge = createCounter('challenge', CHALLENGE_SECONDS)

  async function countCode(request: LimitedRequest, userid: string): Promise<Counted> {
    const account = accountKey(userid)
    const isKnown = await knownAddresses.has(request, userid)
    return ofDay.count(isKnown ? pairKey(addressKey(request), account) : account)
  }

  return (request, { userid, challenge, isGuessable }, work) =>
    limitFailures(request, userid, async () => {
      // Counted before the codes are compared, so that concurrent guesses cannot exceed the maximum.
      if (challenge !== undefined && (await ofChallenge.count(challenge)).count > MAX_OF_CHALLENGE)
        throw new AppError('challenge_refused', 'Too many codes were tried for this challenge; log in again')
      const counted = isGuessable ? await countCode(request, userid) : undefined
      if (counted && counted.count > MAX_CODES_A_DAY) throw tooManyRequests(counted)
      const result = await work()
      await knownAddresses.remember(request, userid)
      return result
    })
}
