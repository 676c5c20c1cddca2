import { adviceFor } from '@latchkey/shared/lifecycle/listen.ts'
import { rootReason } from '@latchkey/shared/root-reason.ts'
import { parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import type { Environment } from '@latchkey/shared/settings/setting.ts'
import getPort from 'get-port'

/** Throws when auth-api cannot listen on PORT or METRICS_PORT. */
export async function requireFreePorts(environment: Environment): Promise<void> {
  const { HOST, PORT, METRICS_PORT } = parseSettings(['HOST', 'PORT', 'METRICS_PORT'], environment)
  for (const [name, port] of Object.entries({ PORT, METRICS_PORT })) {
    const free = await getPort({ port, host: HOST }).catch((cause: unknown) => {
      // Shells and conda set HOST too, to something else.
      throw new Error(`Cannot listen on ${HOST}: ${adviceFor(cause, name) ?? rootReason(cause)}`, { cause })
    })
    if (port !== 0 && free !== port) {
      throw new Error(
        `${HOST}:${port} cannot be used: another process, perhaps another \`npm start\`, already listens there, or the port is ` +
          `reserved for root. Stop that process, or set ${name} to another port.`,
      )
    }
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
