import { AppError, type ErrorCode } from '@latchkey/shared/errors/app-error.ts'
import { describe, expect, it } from 'vitest'
import { type CreateCounter, createCounterFactory } from './counters.ts'
import { createFactorLimiter, type LimitedAttempt } from './factor-limiter.ts'
import { createKnownAddresses } from './known-addresses.ts'

const logger = { info: () => undefined, warn: () => undefined }
const from = (address: string) => ({ address, hasLeft: () => false })
const HERE = from('192.0.2.1')
const ACCOUNT = 'ada'
const PAIR = '192.0.2.1 ada'

/** The limiter of one process, the events that its counters have by now, and the addresses that it knows. */
function limiting(failuresPerMinute = 1_000) {
  const createCounter = createCounterFactory(undefined, logger)
  const seen = new Map<string, () => Promise<number>>()
  const recording: CreateCounter = (name, seconds) => {
    const counter = createCounter(name, seconds)
    return {
      ...counter,
      count(key) {
        seen.set(`${name}:${key}`, async () => (await counter.read(key)).count)
        return counter.count(key)
      },
    }
  }
  const accountKey = (account: string) => account
  const knownAddresses = createKnownAddresses(undefined, accountKey)
  const limitFactors = createFactorLimiter({
    createCounter: recording,
    accountKey,
    knownAddresses,
    failuresPerMinute,
    waitingAttempts: 1_000,
  })
  async function spent() {
    const counts = await Promise.all([...seen].map(async ([key, read]) => [key, await read()] as const))
    return Object.fromEntries(counts.filter(([, count]) => count !== 0))
  }
  return { limitFactors, knownAddresses, spent }
}

const refuseWith = (code: ErrorCode) => (): Promise<never> => Promise.reject(new AppError(code, 'wrong'))
const refuse = refuseWith('second_factor_refused')
const outcomeOf = (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'right',
    (error) => error.code,
  )

const KINDS: (Omit<LimitedAttempt, 'userid'> & { kind: string; counters: string })[] = [
  { kind: 'login by a code', purpose: 'login', challenge: 'c', isGuessable: true, counters: 'factor' },
  {
    kind: 'login by a recovery code',
    purpose: 'login',
    challenge: 'c',
    isGuessable: false,
    counters: 'factor',
  },
  { kind: 'login by a passkey', purpose: 'login', challenge: 'c', isGuessable: false, counters: 'factor' },
  { kind: 'step-up by a code', purpose: 'stepUp', isGuessable: true, counters: 'step-up' },
  {
    kind: 'step-up by a passkey',
    purpose: 'stepUp',
    challenge: 'c',
    isGuessable: false,
    counters: 'step-up',
  },
  { kind: 'enrolment', purpose: 'enrolment', isGuessable: true, counters: 'enrolment' },
]
const TABLE = KINDS.flatMap((each) =>
  [true, false].flatMap((isRight) => [true, false].map((isKnown) => ({ ...each, isRight, isKnown }))),
)

it.each(TABLE)(
  'a $kind, right: $isRight, from a known address: $isKnown',
  async ({ isRight, isKnown, ...attempt }) => {
    const { limitFactors, knownAddresses, spent } = limiting()
    if (isKnown) await knownAddresses.remember(HERE, ACCOUNT)
    const { purpose, challenge, isGuessable, counters } = attempt
    const work = isRight ? async () => undefined : refuse
    await outcomeOf(limitFactors(HERE, { userid: ACCOUNT, purpose, challenge, isGuessable }, work))
    const ofFailure = {
      [`${counters}-address:192.0.2.1`]: 1,
      [`${counters}-account:${ACCOUNT}`]: 1,
      [`${counters}-pair:${PAIR}`]: 1,
      ...(isGuessable && { [`${counters}-day:${isKnown ? PAIR : ACCOUNT}`]: 1 }),
    }
    expect(await spent()).toEqual({ ...(challenge && { 'challenge:c': 1 }), ...(!isRight && ofFailure) })
    expect(await knownAddresses.has(HERE, ACCOUNT)).toBe(isRight || isKnown)
  },
)

describe('the guesses of a day', () => {
  const guess = (limitFactors: ReturnType<typeof limiting>['limitFactors'], host: number, work = refuse) =>
    outcomeOf(
      limitFactors(
        from(`198.51.100.${host}`),
        { userid: ACCOUNT, purpose: 'login', isGuessable: true },
        work,
      ),
    )

  it('are a hundred, also where forty are sent at once', async () => {
    const { limitFactors, spent } = limiting()
    for (let host = 0; host < 80; host++) await guess(limitFactors, host)
    const outcomes = await Promise.all(
      Array.from({ length: 40 }, (_, host) => guess(limitFactors, 100 + host)),
    )
    expect(outcomes.filter((outcome) => outcome === 'second_factor_refused')).toHaveLength(20)
    expect(outcomes.filter((outcome) => outcome === 'rate_limited')).toHaveLength(20)
    expect((await spent())[`factor-day:${ACCOUNT}`], 'of those that were judged').toBe(100)
  })

  it.each([
    { what: 'right codes', work: async () => undefined as never, outcome: 'right' },
    {
      what: 'codes that no challenge takes',
      work: refuseWith('challenge_refused'),
      outcome: 'challenge_refused',
    },
    { what: 'codes that nobody could judge', work: refuseWith('unavailable'), outcome: 'unavailable' },
  ])('are not spent by $what', async ({ work, outcome }) => {
    const { limitFactors, spent } = limiting()
    for (let host = 0; host < 120; host++) expect(await guess(limitFactors, host, work)).toBe(outcome)
    expect(await spent()).toEqual({})
  })
})

it('takes five codes for a challenge, and no sixth', async () => {
  const { limitFactors } = limiting()
  const attempt = { userid: ACCOUNT, purpose: 'login', challenge: 'c', isGuessable: true } as const
  for (let code = 0; code < 5; code++)
    expect(await outcomeOf(limitFactors(HERE, attempt, refuse))).toBe('second_factor_refused')
  expect(await outcomeOf(limitFactors(HERE, attempt, async () => undefined))).toBe('challenge_refused')
})
