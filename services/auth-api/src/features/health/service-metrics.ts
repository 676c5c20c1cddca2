import type { PoolUsage } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { HasherUsage } from '@latchkey/shared/passwords/password-hasher.ts'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** The end of an action: `refused` is the client's fault, `failed` is a fault of Latchkey or the database. */
const OUTCOMES = ['succeeded', 'refused', 'limited', 'overloaded', 'failed'] as const
/** `challenged`: the login continues with a second factor. */
const LOGIN_OUTCOMES = [...OUTCOMES, 'challenged'] as const
type ActionOutcome = (typeof LOGIN_OUTCOMES)[number]

/** Creates the function that counts a login by its outcome, and passes on its result or error. */
export function createLoginCounter(registry: Registry) {
  const logins = new Counter({
    name: 'latchkey_logins_total',
    help: 'Logins by outcome',
    labelNames: ['outcome'],
    registers: [registry],
  })
  // Each series exists from the start, so that the first event is an increase.
  for (const outcome of LOGIN_OUTCOMES) logins.inc({ outcome }, 0)
  return <Result>(action: Promise<Result>): Promise<Result> =>
    countOutcome(action, (outcome) => logins.inc({ outcome }))
}

/** Creates the function that counts a step of a password reset. */
export const createResetCounter = (registry: Registry) =>
  createOutcomeCounter(registry, ['requested', 'confirmed', 'completed'], {
    name: 'latchkey_password_resets_total',
    help: 'Steps of password resets by outcome; a request for an unknown e-mail succeeds too',
    label: 'step',
  })

/** Creates the function that counts an attempt to show a second factor. */
export const createFactorCounter = (registry: Registry, kinds: readonly string[]) =>
  createOutcomeCounter(registry, kinds, {
    name: 'latchkey_second_factors_total',
    help: 'Attempts to show a second factor, by the kind of factor and outcome',
    label: 'factor',
  })

export type CountFactor = ReturnType<typeof createFactorCounter>

/** Creates the function that counts actions of several kinds by their outcomes. */
function createOutcomeCounter<const Kind extends string>(
  registry: Registry,
  kinds: readonly Kind[],
  { label, ...about }: { name: string; help: string; label: string },
) {
  const counter = new Counter({ ...about, labelNames: [label, 'outcome'], registers: [registry] })
  for (const kind of kinds) for (const outcome of OUTCOMES) counter.inc({ [label]: kind, outcome }, 0)
  return <Result>(kind: Kind, action: Promise<Result>): Promise<Result> =>
    countOutcome(action, (outcome) => counter.inc({ [label]: kind, outcome }))
}

async function countOutcome<Result>(
  action: Promise<Result>,
  count: (outcome: ActionOutcome) => void,
): Promise<Result> {
  try {
    const result = await action
    count('succeeded')
    return result
  } catch (error) {
    count(outcomeOf(error))
    throw error
  }
}

function outcomeOf(error: unknown): ActionOutcome {
  if (!(error instanceof AppError) || error.code === 'unavailable') return 'failed'
  if (error.code === 'rate_limited') return 'limited'
  if (error.code === 'second_factor_required') return 'challenged'
  return error.code === 'overloaded' ? 'overloaded' : 'refused'
}

/** Creates the histogram of the time that calls wait for a hashing thread. */
export const createHashWaits = (registry: Registry): Histogram =>
  new Histogram({
    name: 'latchkey_hash_wait_seconds',
    help: 'Time that the hash of a password waits for a thread',
    buckets: [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })

export interface GaugeSources {
  /** The number of tokens that were checked from memory, and by the database. */
  tokenChecks: () => Readonly<Record<'memory' | 'database', number>>
  hashes: () => HasherUsage
  connections: () => PoolUsage
  maxConnections: number
}

/** Registers what the service counts itself. It is read at each scrape. */
export function registerServiceGauges(registry: Registry, sources: GaugeSources): void {
  const registers = [registry]
  new Counter({
    name: 'latchkey_token_checks_total',
    help: 'Checks whether a token was revoked: from memory, or by a statement',
    labelNames: ['source'],
    registers,
    collect() {
      this.reset()
      const { memory, database } = sources.tokenChecks()
      this.inc({ source: 'memory' }, memory)
      this.inc({ source: 'database' }, database)
    },
  })
  registerStates(registry, {
    name: 'latchkey_hashes',
    help: 'Hashes of passwords by state',
    read: () => ({ ...sources.hashes() }),
  })
  registerStates(registry, {
    name: 'latchkey_database_connections',
    help: 'Connections in use, and statements that wait for one',
    read() {
      const { inUse, waiting } = sources.connections()
      return { in_use: inUse, waiting }
    },
  })
  new Gauge({
    name: 'latchkey_database_connections_max',
    help: 'DATABASE_POOL: connections that this process may open',
    registers,
  }).set(sources.maxConnections)
}

interface States {
  name: string
  help: string
  read: () => Readonly<Record<string, number>>
}

/** Registers a gauge with the label `state`. */
function registerStates(registry: Registry, { name, help, read }: States): void {
  new Gauge({
    name,
    help,
    labelNames: ['state'],
    registers: [registry],
    collect() {
      for (const [state, value] of Object.entries(read())) this.set({ state }, value)
    },
  })
}
