import { hash, randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { type AccountHistory, createAccountHistory } from './account-history.ts'
import type { KilledReplicas, Victim } from './killed-replicas.ts'
import type { Choice, Use } from './use.ts'
import { expectExplained, STEPS } from './use-account.ts'

export interface RandomUse {
  seconds: number
  users: number
  seed: number
}

/** From the environment; the same seed gives the same steps, at other moments. */
export const randomUseOptions = (): RandomUse => ({
  seconds: Number(process.env.RANDOM_USE_SECONDS ?? 25),
  users: Number(process.env.RANDOM_USE_USERS ?? 100),
  seed: Number(process.env.MODEL_SEED ?? Date.now() % 1e9),
})

const FIRST_PASSWORD = 'c0rrect-Horse!'
/** Steps at the same time. Each lane has users of its own, whose steps come one after the other. */
const LANES = 16
/** Between two steps of a lane, on average. */
const PAUSE_MS = 150
/** Between two kills. */
const LIFE_MS = 1_000

interface ChosenStep extends Choice {
  user: number
  name: string
  pauseMs: number
}

const chosenStep: fc.Arbitrary<ChosenStep> = fc.record({
  name: fc.oneof(
    ...Object.entries(STEPS).map(([name, { weight }]) => ({ weight, arbitrary: fc.constant(name) })),
  ),
  user: fc.nat(999),
  pauseMs: fc.nat(2 * PAUSE_MS),
  replica: fc.nat(1),
  token: fc.nat(9),
  variant: fc.nat(99),
})

const chosenKill = fc.record({
  victim: fc.oneof(
    ...(['first', 'second', 'both'] satisfies Victim[]).map((victim) => ({
      weight: victim === 'both' ? 1 : 3,
      arbitrary: fc.constant<Victim>(victim),
    })),
  ),
  lifeMs: fc.nat(2 * LIFE_MS),
  // A change takes some milliseconds; on a busy machine, some more.
  delayMs: fc.oneof(fc.nat(10), fc.nat(60)),
})

/** Users do what they like while replicas are killed; then every account is what its history makes of it. */
export async function useAtRandom(service: KilledReplicas, { seconds, users, seed }: RandomUse) {
  const endsAt = Date.now() + seconds * 1000
  const takenEmail = `taken-${randomBytes(4).toString('hex')}@example.com`
  await addUser(service, takenEmail, 'taken')
  const accounts: AccountHistory[] = []
  for (let index = 0; index < users; index++)
    accounts.push(
      await addUser(service, `ada${index}@example.com`, `ada${index}`, index % 4 ? 'user' : 'admin'),
    )
  const failed = new AbortController()
  const lane = async (number: number) => {
    const own = accounts.filter((_, index) => index % LANES === number)
    return await useUntil(endsAt, own, { service, takenEmail }, seed + number, failed.signal).catch(
      (error) => {
        failed.abort()
        throw error
      },
    )
  }
  const lanes = Array.from({ length: Math.min(LANES, users) }, (_, number) => lane(number))
  const [kills, ...steps] = await allEnded([killUntil(endsAt, service, seed, failed.signal), ...lanes])
  for (const account of accounts)
    await explained(account, () =>
      expectExplained({ account, service, takenEmail, replica: 0, token: 0, variant: 0 }),
    )
  return { kills, steps: steps.reduce((sum, count) => sum + count, 0), accounts }
}

async function addUser(
  { users }: KilledReplicas,
  email: string,
  username: string,
  role = 'user',
): Promise<AccountHistory> {
  const passwordHash = hash('sha1', FIRST_PASSWORD)
  const userid = await users.insert({ name: 'Ada', email, username, passwordHash, role })
  return createAccountHistory({ userid, username, email, password: FIRST_PASSWORD, role })
}

async function useUntil(
  endsAt: number,
  accounts: readonly AccountHistory[],
  use: Pick<Use, 'service' | 'takenEmail'>,
  seed: number,
  failed: AbortSignal,
): Promise<number> {
  let count = 0
  for (const { user, name, pauseMs, ...choice } of streamOf(chosenStep, seed)) {
    await pause(pauseMs)
    const account = accounts[user % accounts.length]
    if (!account || Date.now() > endsAt || failed.aborted) break
    account.note(`# ${name}`)
    await explained(account, async () => STEPS[name]?.run({ ...use, ...choice, account }))
    count++
  }
  return count
}

/** Rejects once all have ended: what they use is closed then. */
async function allEnded<Result>(works: readonly Promise<Result>[]): Promise<Result[]> {
  await Promise.allSettled(works)
  return Promise.all(works)
}

async function killUntil(
  endsAt: number,
  service: KilledReplicas,
  seed: number,
  failed: AbortSignal,
): Promise<number> {
  const end = AbortSignal.any([failed, AbortSignal.timeout(Math.max(0, endsAt - Date.now()))])
  let kills = 0
  for (const { victim, lifeMs, delayMs } of streamOf(chosenKill, seed)) {
    try {
      await pause(lifeMs, undefined, { signal: end })
      await service.kill(victim, delayMs, end)
    } catch (error) {
      if (end.aborted) break
      throw error
    }
    kills++
  }
  return kills
}

const streamOf = <Value>(arbitrary: fc.Arbitrary<Value>, seed: number): Iterable<Value> =>
  fc.sample(fc.infiniteStream(arbitrary), { seed, numRuns: 1 })[0] ?? []

/** A failure shows the history of the account. */
async function explained(account: AccountHistory, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (cause) {
    const history = account.lines.slice(-40).join('\n')
    throw new Error(`${account.username}: ${cause instanceof Error ? cause.message : cause}\n${history}`, {
      cause,
    })
  }
}
