import { once } from 'node:events'
import { createServer } from 'node:net'
import { rootReason } from '@latchkey/shared/errors/root-reason.ts'
import { adviceFor } from '@latchkey/shared/lifecycle/listen.ts'
import { parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import type { Environment } from '@latchkey/shared/settings/setting.ts'
import getPort from 'get-port'

/** Throws when auth-api cannot listen on PORT or METRICS_PORT. */
export async function requireFreePorts(environment: Environment): Promise<void> {
  const { HOST, PORT, METRICS_PORT } = parseSettings(['HOST', 'PORT', 'METRICS_PORT'], environment)
  for (const [name, port] of Object.entries({ PORT, METRICS_PORT })) {
    const error = await tryToListen(HOST, port)
    if (!error) continue
    const reason = adviceFor(error, name) ?? rootReason(error)
    throw new Error(`Cannot listen on ${HOST}:${port}: ${reason}`, { cause: error })
  }
}

/** True where another process listens on the METRICS_PORT of a worker's environment. */
export async function isMetricsPortTaken(environment: Environment): Promise<boolean> {
  const { HOST, METRICS_PORT } = parseSettings(['HOST', 'METRICS_PORT'], environment)
  const error = await tryToListen(HOST, METRICS_PORT)
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
}

/** Listens for a moment; resolves with the error when that is refused. `get-port` would refuse what it has given before. */
async function tryToListen(host: string, port: number): Promise<unknown> {
  const server = createServer().listen(port, host)
  try {
    await once(server, 'listening')
    return undefined
  } catch (error) {
    return error
  } finally {
    server.close()
  }
}

/** The environment with the address of the API, whose port is chosen here where PORT is 0. */
export async function withApiAddress(environment: Environment): Promise<Environment> {
  const { HOST, PORT } = parseSettings(['HOST', 'PORT'], environment)
  const withPort = { ...environment, PORT: String(PORT || (await getPort({ host: HOST }))) }
  return { ...withPort, ...parseSettings(['API_SERVER'], withPort) }
}

/** The environment of mailer-worker: without the keys that sign tokens, and with METRICS_PORT, if set, left to auth-api. */
export async function environmentOfWorker(environment: Environment): Promise<Environment> {
  const { HOST } = parseSettings(['HOST'], environment)
  const { METRICS_PORT } = parseSettings(['METRICS_PORT'], {}, 'mailer-worker')
  const others = Object.entries(environment).filter(([name]) => !name.startsWith('JWT_'))
  return {
    ...Object.fromEntries(others),
    METRICS_PORT: String(await getPort({ port: METRICS_PORT, host: HOST })),
  }
}
