import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { UserRepository } from '../users/user-repository.ts'

/** What auth-api hands to the routes of an extension. */
export interface ExtensionContext {
  db: Database
  users: Pick<UserRepository, 'findById' | 'findByLogin'>
  clock: Clock
}

/** The plugin that adds the routes of an extension. Its hooks and decorators reach these routes only. */
export type ExtensionRoutes = FastifyPluginAsyncZod<ExtensionContext>

/**
 * What `extensions/<name>/extension.ts` exports as its default. Each part is loaded by the service that needs it, and by
 * no other.
 */
export interface Extension {
  /** The roles that its routes may require beside those of Latchkey. */
  roles?: readonly string[]
  /** Loads the module that exports `routes`. */
  routes?: () => Promise<{ routes: ExtensionRoutes }>
}

/** Declares an extension; returns it with its types. */
export const defineExtension = (extension: Extension): Extension => extension
