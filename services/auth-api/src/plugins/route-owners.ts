import type { FastifyInstance } from 'fastify'

interface OwnedRoute {
  owner: string
  method: string
  url: string
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
    const added = methods.map((method) => ({ owner, method, url: route.url }))
    for (const each of added) refuseOverlap(each, known)
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

function refuseOverlap(added: OwnedRoute, known: readonly OwnedRoute[]): void {
  const other = known.find(({ owner, url }) => owner !== added.owner && overlap(url, added.url))
  if (other)
    throw new Error(
      `${added.method} ${added.url} matches URLs of ${other.method} ${other.url}, a route of ${other.owner}; choose another path`,
    )
}

/** Whether one URL can match both patterns. A segment with a parameter counts as matching any segment. */
const overlap = (one: string, other: string): boolean =>
  variants(one).some((a) => variants(other).some((b) => haveCommonPath(a.split('/'), b.split('/'))))

/** `/notes/:id?` stands for two patterns. */
const variants = (url: string): string[] =>
  url.endsWith('?') ? [url.slice(0, -1), url.slice(0, url.lastIndexOf('/'))] : [url]

function haveCommonPath([a, ...restOfA]: string[], [b, ...restOfB]: string[]): boolean {
  if (a === undefined || b === undefined) return a === b
  if (a.includes('*') || b.includes('*')) return hasPrefixOf(a, b) || hasPrefixOf(b, a)
  return (a === b || a.includes(':') || b.includes(':')) && haveCommonPath(restOfA, restOfB)
}

/** Whether `segment` can begin as `wildcard` does before its `*` or its parameter. */
const hasPrefixOf = (segment: string, wildcard: string): boolean =>
  segment.startsWith(wildcard.split(/[*:]/)[0] ?? '')
