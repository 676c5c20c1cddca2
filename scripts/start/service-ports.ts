import { parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import type { Environment } from '@latchkey/shared/settings/setting.ts'
import getPort from 'get-port'

/** Throws when auth-api cannot listen on PORT or METRICS_PORT. */
export async function refuseTakenPorts(environment: Environment): Promise<void> {
  const { HOST, PORT, METRICS_PORT } = parseSettings(['HOST', 'PORT', 'METRICS_PORT'], environment)
  for (const [name, port] of Object.entries({ PORT, METRICS_PORT })) {
    if (port !== 0 && (await getPort({ port, host: HOST })) !== port) {
      throw new Error(
        `${HOST}:${port} cannot be used: another process, perhaps another \`npm start\`, already listens there, or the port is ` +
          `reserved for root. Stop that process, or set ${name} to another port.`,
      )
    }
  }
}

/** A free port for mailer-worker's health and metrics. METRICS_PORT, if set, is the one of auth-api. */
export async function freeWorkerMetricsPort(environment: Environment): Promise<number> {
  const { HOST } = parseSettings(['HOST'], environment)
  const { METRICS_PORT } = parseSettings(['METRICS_PORT'], {}, 'mailer-worker')
  return getPort({ port: METRICS_PORT, host: HOST })
}
