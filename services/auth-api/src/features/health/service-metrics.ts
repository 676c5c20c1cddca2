import type { PoolUsage } from '@latchkey/shared/database/database.ts'
import type { HasherUsage } from '@latchkey/shared/passwords/password-hasher.ts'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

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
