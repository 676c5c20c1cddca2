import Fastify from 'fastify'
import { expect, it } from 'vitest'
import { trackRouteOwners } from './route-owners.ts'

/** Adds a GET route of the service, then one of another owner. */
async function add(first: string, second: string): Promise<void> {
  const app = Fastify()
  const owners = trackRouteOwners(app, 'us')
  app.get(first, async () => 1)
  await owners.add('them', async () => void app.get(second, async () => 1))
}

it.each([
  ['/a', '/a'],
  ['/a/:id', '/a/b'],
  ['/a/b', '/a/:id'],
  ['/a/:id', '/:x/:y'],
  ['/a/:id?', '/a'],
  ['/a/*', '/a/b/c'],
  ['/a/b/c', '/a/*'],
  ['/a', '/*'],
  ['/a', '*'],
  ['/a/b*', '/a/bc'],
])('refuses %s beside %s', async (first, second) => {
  await expect(add(first, second)).rejects.toThrow(
    `${second} matches URLs of GET ${first}, a route of us; choose another path`,
  )
})

it.each([
  ['/a', '/b'],
  ['/a', '/a/b'],
  ['/a/:id', '/a'],
  ['/a/:id', '/b/:id'],
  ['/a/:id', '/a/:id/c'],
  ['/a/:x-:y', '/a/b'],
  ['/a/*', '/a'],
  ['/a/*', '/b/c'],
  ['/a/b*', '/a/c'],
  ['/a', '/A'],
])('admits %s beside %s', async (first, second) => {
  await expect(add(first, second)).resolves.toBeUndefined()
})

it('admits several methods of one owner, and the preflights of every path', async () => {
  const app = Fastify()
  const owners = trackRouteOwners(app, 'us')
  app.options('*', async () => 1)
  await owners.add('them', async () => {
    app.get('/a', async () => 1)
    app.post('/a', async () => 1)
    app.get('/a/:id', async () => 1)
    app.get('/a/b', async () => 1)
  })
  expect(() => app.get('/a/c', async () => 1)).toThrow('a route of them')
})
