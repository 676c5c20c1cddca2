import type { ConfiguredExtension } from '@latchkey/shared/extensions/configure-extensions.ts'
import { explainFailure } from '@latchkey/shared/extensions/explain-failure.ts'
import { checkProblemType } from '@latchkey/shared/extensions/problem-type.ts'
import type { FastifyInstance } from 'fastify'
import type { Core } from './core.ts'
import type { RouteOwners } from './plugins/route-owners.ts'

/** Adds the routes of each extension, whose hooks and decorators reach no other route; throws `ExtensionError`. */
export async function addExtensions(
  server: FastifyInstance,
  extensions: readonly ConfiguredExtension[],
  owners: RouteOwners,
  { db, users, clock, createMailsOf }: Core,
): Promise<void> {
  for (const extension of extensions)
    await explainFailure(extension, async () => {
      const routes = await extension.loadRoutes()
      if (!routes) return
      const mails = createMailsOf(extension.mails)
      const context = { db, users, clock, mails, settings: extension.values }
      await owners.add(`the extension ${extension.name}`, async () => {
        // Around the plugin, so that even one created with fastify-plugin changes no other route.
        await server.register(async (app) => {
          app.addHook('onRoute', ({ problems = [] }) => {
            for (const problem of problems)
              if (typeof problem !== 'string') checkProblemType(extension.name, problem)
          })
          await app.register(routes, context)
        })
      })
    })
}
