import { inject } from 'vitest'
import { sharedServer } from '../servers/shared-server.ts'

/** The databases that run `*.engine.test.ts`, each with identical assertions. */
export type Engine = 'embedded' | 'postgres' | 'serializable' | 'pgbouncer' | 'mysql' | 'mariadb'

declare module 'vitest' {
  interface ProvidedContext {
    engine: Engine
  }
}

/** The engine of this project. */
export const engine = (): Engine => inject('engine')

export const isPostgres = (on: Engine = engine()): boolean => on !== 'mysql' && on !== 'mariadb'

/** The engine's address with the right to create databases; the path is an existing database. */
export const adminUrl = (on: Engine = engine()): Promise<string> =>
  sharedServer(on === 'serializable' || on === 'pgbouncer' ? 'postgres' : on)

/** The address at which Latchkey reaches the engine: where a pooler is in between, its address. */
export const serverUrl = (on: Engine = engine()): Promise<string> =>
  on === 'pgbouncer' ? sharedServer(on) : adminUrl(on)

/** The address of an existing mail queue: PostgreSQL's own, or Redis. */
export const queueUrl = (): Promise<string> => (isPostgres() ? adminUrl() : sharedServer('redis'))
