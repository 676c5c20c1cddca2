import type { ConfiguredExtension } from '@latchkey/shared/extensions/configure-extensions.ts'
import { explainFailure } from '@latchkey/shared/extensions/explain-failure.ts'
import { requireProblemType } from '@latchkey/shared/extensions/problem-type.ts'
import type { FastifyInstance, RouteOptions } from 'fastify'
import type { Core } from '../core.ts'
import type { RouteOwners } from './route-owners.ts'

/**
 * Adds the routes of each extension, whose hooks and decorators reach no other route; throws `ExtensionError`. Each route
 * says who may call it: one that forgets or misspells `auth` would be open to everybody.
 */
export async function addExtensions(
  server: FastifyInstance,
  extensions: readonly ConfiguredExtension[],
  owners: RouteOwners,
  { db, users, localNow, mailsOf, logger }: Core,
): Promise<void> {
  for (const extension of extensions)
    await explainFailure(extension, async () => {
      const routes = await extension.loadRoutes()
      if (!routes) return
      const mails = mailsOf(extension.mails)
      const context = { db, users, clock: localNow, mails, settings: extension.values }
      const open: string[] = []
      await owners.add(`the extension ${extension.name}`, async () => {
        // Around the plugin, so that even one created with fastify-plugin changes no other route.
        await server.register(async (app) => {
          app.addHook('onRoute', (route) => {
            requireAuth(route)
            if (route.auth === 'public') open.push(`${[route.method].flat().join(', ')} ${route.url}`)
            for (const problem of route.problems ?? [])
              if (typeof problem !== 'string') requireProblemType(extension.name, problem)
          })
          await app.register(routes, context)
        })
      })
      if (open.length > 0) logger.info({ routes: open }, `public routes of the extension ${extension.name}`)
    })
}

function requireAuth(route: RouteOptions): void {
  if (typeof route.auth === 'object' && route.auth?.secondFactor === 'enrolling')
    throw new Error(
      `The route ${route.url} is not for enrolling a second factor: only Latchkey's own are; remove secondFactor`,
    )
  if (route.auth === undefined)
    throw new Error(
      `The route ${route.url} does not say who may call it: add auth: 'authenticated', auth: { role: '…' } or auth: 'public'`,
    )
}
