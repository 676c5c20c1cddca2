import { explainFailure } from '@latchkey/shared/extensions/explain-failure.ts'
import type { ExtensionContext } from '@latchkey/shared/extensions/extension.ts'
import type { LoadedExtension } from '@latchkey/shared/extensions/load-extensions.ts'
import type { FastifyInstance } from 'fastify'
import type { RouteOwners } from './plugins/route-owners.ts'

/** Adds the routes of an extension, in a context of their own; throws `ExtensionError`. */
export const addExtensionRoutes = (
  server: FastifyInstance,
  owners: RouteOwners,
  extension: LoadedExtension,
  context: ExtensionContext,
): Promise<void> =>
  explainFailure(extension, async () => {
    const routes = await extension.loadRoutes()
    if (!routes) return
    await owners.add(`the extension ${extension.name}`, async () => {
      // Around the plugin, so that even one made with fastify-plugin changes no other route.
      await server.register(async (app) => void (await app.register(routes, context)))
    })
  })
