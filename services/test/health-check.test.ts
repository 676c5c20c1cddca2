import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DEPLOY } from '@latchkey/test-support/images.ts'
import Fastify from 'fastify'
import { describe, expect, it } from 'vitest'

/** The commands of the Dockerfile, by the setting that names the port. */
const PROBES = [
  ...readFileSync(join(DEPLOY, 'Dockerfile'), 'utf8').matchAll(/^HEALTHCHECK .*\\\n\s+CMD (\[.+\])$/gm),
].map(([, command = '']): [setting: string, command: string[]] => [
  /\$\{(\w+)/.exec(command)?.[1] ?? '',
  JSON.parse(command),
])

describe('the health check of an image', () => {
  it('is one of each service', () => {
    expect(PROBES.map(([setting]) => setting).toSorted()).toEqual(['METRICS_PORT', 'PORT'])
  })

  it.for([
    { answers: 'ready', status: 200, exits: 0 },
    { answers: 'unready', status: 503, exits: 1 },
    { answers: 'without that path', status: 404, exits: 1 },
    { answers: 'not at all', status: undefined, exits: 1 },
  ])('exits with $exits where the service answers $answers', async ({ status, exits }) => {
    const server = Fastify()
    if (status !== 404)
      server.get('/health/ready', (_request, reply) => reply.code(status ?? 200).send({ status: 'ok' }))
    const { port } = new URL(await server.listen({ host: '127.0.0.1', port: 0 }))
    if (status === undefined) await server.close()
    for (const [setting, [program = '', ...args]] of PROBES) {
      const probe = spawn(program, args, {
        env: { PATH: process.env.PATH, [setting]: port },
        stdio: 'ignore',
      })
      expect(await once(probe, 'exit'), setting).toEqual([exits, null])
    }
    await server.close()
  })
})
