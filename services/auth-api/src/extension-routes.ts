import type { ConfiguredExtension } from '@latchkey/shared/extensions/configure-extensions.ts'
import { explainFailure } from '@latchkey/shared/extensions/explain-failure.ts'
import type { ExtensionContext } from '@latchkey/shared/extensions/extension.ts'
import { checkProblemType } from '@latchkey/shared/extensions/problem-type.ts'
import type { FastifyInstance } from 'fastify'
import type { RouteOwners } from './plugins/route-owners.ts'

/** What every extension works with; its mails and the values of its settings are its own. */
export interface ExtensionOptions extends Omit<ExtensionContext, 'mails' | 'settings'> {
  mailsOf: (extension: ConfiguredExtension) => ExtensionContext['mails']
}

/** Adds the routes of an extension, in a context of their own; throws `ExtensionError`. */
export const addExtensionRoutes = (
  server: FastifyInstance,
  owners: RouteOwners,
  extension: ConfiguredExtension,
  { mailsOf, ...context }: ExtensionOptions,
): Promise<void> =>
  explainFailure(extension, async () => {
    const routes = await extension.loadRoutes()
    if (!routes) return
    const own = { ...context, mails: mailsOf(extension), settings: extension.values }
    await owners.add(`the extension ${extension.name}`, async () => {
      // Around the plugin, so that even one made with fastify-plugin changes no other route.
      await server.register(async (app) => {
        app.addHook('onRoute', ({ problems = [] }) => {
          for (const problem of problems)
            if (typeof problem !== 'string') checkProblemType(extension.name, problem)
        })
        await app.register(routes, own)
      })
    })
  })
