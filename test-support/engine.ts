import { findDialect } from '@latchkey/shared/database/dialects.ts'
import { inject } from 'vitest'
import { sharedServer } from './servers/shared-server.ts'

/** The databases that run `*.engine.test.ts`, each with identical assertions. */
export type Engine =
  | 'embedded'
  | 'postgres'
  | 'pgbouncer'
  | 'mysql'
  | 'mariadb'
  | 'galera'
  | 'group-replication'
  | 'given'

const POSTGRES: readonly Engine[] = ['embedded', 'postgres', 'pgbouncer']

declare module 'vitest' {
  interface ProvidedContext {
    engine: Engine
    /** The empty database on which the engine `given` is. */
    givenUrl: string
  }
}

/** The engine of this project. */
export const engine = (): Engine => inject('engine')

export const isPostgres = (on: Engine = engine()): boolean =>
  on === 'given' ? findDialect(inject('givenUrl')).name === 'postgres' : POSTGRES.includes(on)

/** True where the engine has several nodes that all take changes. */
export const isCluster = (on: Engine = engine()): boolean => on === 'galera' || on === 'group-replication'

/** The engine's address with the right to create databases; the path is an existing database. */
export async function adminUrl(on: Engine = engine()): Promise<string> {
  const [first = ''] = await nodeUrls(on)
  return first
}

/** The address of each node of the engine. */
export async function nodeUrls(on: Engine = engine()): Promise<string[]> {
  if (on === 'given') return [inject('givenUrl')]
  const urls = await sharedServer(on === 'pgbouncer' ? 'postgres' : on)
  return urls.split(' ')
}

/** The address at which Latchkey reaches the engine: where a pooler is in between, its address. */
export const serverUrl = (on: Engine = engine()): Promise<string> =>
  on === 'pgbouncer' ? sharedServer(on) : adminUrl(on)

/** The address of an existing mail queue: PostgreSQL's own, or Redis. */
export const queueUrl = (): Promise<string> => (isPostgres() ? adminUrl() : sharedServer('redis'))
