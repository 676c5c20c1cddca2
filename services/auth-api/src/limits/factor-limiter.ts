import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { type Counter, tooManyRequests } from './counters.ts'
import { createFailureLimiter, type FailureLimiterOptions } from './failure-limiter.ts'
import type { KnownAddresses } from './known-addresses.ts'
import { type LimitedClient, pairKey } from './limit-keys.ts'

/** Time in which a challenge can be answered, and its attempts are counted. */
export const CHALLENGE_SECONDS = 300

export interface FactorLimiterOptions extends Omit<FailureLimiterOptions, 'name' | 'countedErrors'> {
  knownAddresses: KnownAddresses
}

/** The names of the counters, by the purpose of an attempt. An attempt for one purpose spends nothing that another one needs. */
const COUNTERS = { login: 'factor', stepUp: 'step-up', enrolment: 'enrolment' } as const

/** The codes of a refused factor, which count as failures. */
const REFUSALS = ['second_factor_refused', 'passkey_refused'] as const

export type FactorRefusal = (typeof REFUSALS)[number]

export type FactorPurpose = keyof typeof COUNTERS

/** An attempt to show a second factor. */
export interface LimitedAttempt {
  userid: string
  purpose: FactorPurpose
  /** The `jti` of the challenge that it answers. */
  challenge?: string | undefined
  /** True where a code of six digits is sent, which can be guessed. */
  isGuessable: boolean
}

/**
 * Runs an attempt to show a second factor unless too many were refused, and counts it when it is. Throws `rate_limited`, and
 * `challenge_refused` when the challenge has had too many attempts.
 */
export type LimitFactors = <Result>(
  client: LimitedClient,
  attempt: LimitedAttempt,
  work: () => Promise<Result>,
) => Promise<Result>

const DAY_SECONDS = 24 * 60 * 60
const MAX_OF_CHALLENGE = 5
/**
 * Three of a million codes are valid at a time for each of a user's apps. A day of guesses finds one with a probability of
 * 0.03 %, with three apps 0.09 %.
 */
const MAX_CODES_A_DAY = 100

/**
 * Limits refused factors like failed logins, and the wrong codes that can be guessed of an account in a day: of all clients
 * together that have never succeeded, and of each one that has. So an attacker who knows the password does not lock the owner
 * out: the owner can log in from a known address, and from anywhere by a recovery code. An attacker who only has a token
 * spends nothing that a login needs.
 */
export function createFactorLimiter({ knownAddresses, ...options }: FactorLimiterOptions): LimitFactors {
  const { accountKey, createCounter } = options
  const createBudget = (name: string) => ({
    limitFailures: createFailureLimiter({
      ...options,
      name,
      countedErrors: REFUSALS,
    }),
    ofDay: createCounter(`${name}-day`, DAY_SECONDS),
  })
  const budgets = {
    login: createBudget(COUNTERS.login),
    stepUp: createBudget(COUNTERS.stepUp),
    enrolment: createBudget(COUNTERS.enrolment),
  }
  const ofChallenge = createCounter('challenge', CHALLENGE_SECONDS)

  async function dayKey(client: LimitedClient, userid: string): Promise<string> {
    const account = accountKey(userid)
    const isKnown = await knownAddresses.has(client, userid)
    return isKnown ? pairKey(client.address, account) : account
  }

  /** Counts a code before it is compared, so that concurrent guesses cannot exceed the maximum, and gives it back unless it was a guess. */
  async function countCode<Result>(
    ofDay: Counter,
    key: string,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const counted = await ofDay.count(key)
    if (counted.count > MAX_CODES_A_DAY) {
      await ofDay.giveBack(key)
      throw tooManyRequests(counted)
    }
    let result: Result
    try {
      result = await work()
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'second_factor_refused')) await ofDay.giveBack(key)
      throw error
    }
    await ofDay.giveBack(key)
    return result
  }

  return (client, { userid, purpose, challenge, isGuessable }, work) => {
    const { limitFailures, ofDay } = budgets[purpose]
    return limitFailures(client, userid, async () => {
      if (challenge !== undefined && (await ofChallenge.count(challenge)).count > MAX_OF_CHALLENGE)
        throw new AppError('challenge_refused', 'Too many codes were tried for this challenge', {
          reason: 'challenge_exhausted',
        })
      const result = isGuessable ? await countCode(ofDay, await dayKey(client, userid), work) : await work()
      await knownAddresses.remember(client, userid)
      return result
    })
  }
}
