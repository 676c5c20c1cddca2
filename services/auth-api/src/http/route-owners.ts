import type { FastifyInstance } from 'fastify'
import findMyWay from 'find-my-way'

interface OwnedRoute {
  owner: string
  method: string
  url: string
  /** True where the pattern of the route matches another one, taken as a path: a parameter then counts as any other segment. */
  matches: (path: string) => boolean
}

export interface RouteOwners {
  /** Runs `register`, whose routes belong to `owner`. One at a time. */
  add(owner: string, register: () => Promise<void>): Promise<void>
}

/**
 * Refuses a route if a URL that it matches belongs to a route of another owner already. To be called before the routes
 * are added; those that are added outside of `add` belong to `first`.
 */
export function trackRouteOwners(app: FastifyInstance, first: string): RouteOwners {
  const known: OwnedRoute[] = []
  let owner = first
  app.addHook('onRoute', (route) => {
    const methods = [route.method].flat().filter((method) => !isPreflight(method, route.url))
    const matches = createMatcher(route.url)
    const added = methods.map((method) => ({ owner, method, url: route.url, matches }))
    for (const each of added) requireNoOverlap(each, known)
    known.push(...added)
  })
  return {
    async add(name, register) {
      owner = name
      try {
        await register()
      } finally {
        owner = first
      }
    },
  }
}

/** @fastify/cors answers preflights at every path by one route. */
const isPreflight = (method: string, url: string): boolean => method === 'OPTIONS' && url === '*'

function requireNoOverlap(added: OwnedRoute, known: readonly OwnedRoute[]): void {
  const other = known.find(
    ({ owner, url, matches }) => owner !== added.owner && (matches(added.url) || added.matches(url)),
  )
  if (other)
    throw new Error(
      `${added.method} ${added.url} matches URLs of ${other.method} ${other.url}, a route of ${other.owner}; choose another path`,
    )
}

function createMatcher(pattern: string): OwnedRoute['matches'] {
  const router = findMyWay()
  router.on('GET', pattern, () => undefined)
  return (path) => router.find('GET', path) !== null
}
