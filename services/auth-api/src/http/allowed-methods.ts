import type { FastifyInstance } from 'fastify'
import findMyWay, { type HTTPMethod } from 'find-my-way'

/**
 * Returns a function that finds the methods of all routes that match a path, also parametric and wildcard ones. To be
 * called before the routes are added.
 */
export function trackMethods(app: FastifyInstance): (path: string) => string[] {
  // Fastify's own router finds a route by its pattern only, not by a path.
  const router = findMyWay()
  const methods = new Set<HTTPMethod>()
  app.addHook('onRoute', ({ url, method }) => {
    for (const each of [method].flat() as HTTPMethod[]) {
      // @fastify/cors answers preflights at every path by one route, which makes no path exist.
      if ((each === 'OPTIONS' && url === '*') || router.hasRoute(each, url)) continue
      methods.add(each)
      router.on(each, url, () => undefined)
    }
  })
  return (path) => [...methods].filter((method) => router.find(method, path)).sort()
}
