import { format } from 'node:util'
import type { Logger } from 'pino'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { findNameFaults, loadConfig } from '../settings/environment.ts'
import type { Environment } from '../settings/setting.ts'
import { SettingsError } from '../settings/settings-error.ts'
import { createLogger } from '../telemetry/logger.ts'
import { startTracing, type Tracing } from '../telemetry/tracing.ts'
import type { Lifecycle } from './run-service.ts'

export interface ServiceOptions<Settings> {
  /** The name in logs and traces. */
  name: string
  /** The environment of the process, to which the `OTEL_` settings of the files are added. */
  processEnvironment: NodeJS.ProcessEnv
  /** Reads the service's settings from the environment; throws `SettingsError`. */
  readSettings: (environment: Record<string, string | undefined>) => Settings | Promise<Settings>
  /** Logged when requests or jobs outlast SHUTDOWN_GRACE. */
  timeoutMessage: string
}

interface CommonConfig {
  log: { level: string }
  shutdown: { graceSeconds: number; delaySeconds?: number }
}

/** The parts that the members of a service may need. */
export interface ServiceContext {
  logger: Logger
  /** Undefined when traces are off. */
  tracing: Tracing | undefined
  registry: Registry
}

/**
 * Ends the process before a connection or a port is opened: with exit code 0 where its settings can be used, and no variable
 * of its environment is almost a setting. A start only warns of such a variable, which may be another program's.
 */
const CHECK_SETTINGS = '--check-settings'

/** Opens what every service has: settings, logger, traces, metrics. Throws `SettingsError` or `ExtensionError`. */
export async function openContext<Settings extends { config: CommonConfig }>(
  lifecycle: Lifecycle,
  { name, processEnvironment, readSettings, timeoutMessage }: ServiceOptions<Settings>,
): Promise<Settings & ServiceContext> {
  const nameFaults = findNameFaults(processEnvironment, 'the environment')
  const { environment, config: settings } = await loadConfig(readSettings, processEnvironment)
  if (process.argv.includes(CHECK_SETTINGS)) {
    if (nameFaults.length > 0) throw new SettingsError(nameFaults)
    process.exit()
  }
  const { log, shutdown } = settings.config
  let tracing: Tracing | undefined
  const logger = createLogger(name, log.level, undefined, () => tracing?.logFields() ?? {})
  for (const fault of nameFaults) logger.warn(fault)
  await lifecycle.open(
    () => logConsole(logger),
    (restore) => restore(),
  )
  const timeoutMs = ((shutdown.delaySeconds ?? 0) + shutdown.graceSeconds) * 1000
  lifecycle.configureStop({ logger, timeoutMs, timeoutMessage })
  tracing = await lifecycle.open(
    () => {
      addTracingSettings(processEnvironment, environment)
      return startTracing(name, environment, logger)
    },
    (tracing) => tracing?.stop(),
  )
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return { ...settings, logger, tracing, registry }
}

/** Makes what a library prints a line of the log, which is JSON. Returns a function that ends it. */
function logConsole(logger: Logger): () => void {
  const { log, info, warn, error } = console
  const levels = { log: 'info', info: 'info', warn: 'warn', error: 'error' } as const
  for (const [name, level] of Object.entries(levels))
    Object.assign(console, { [name]: (...values: unknown[]) => logger[level](format(...values)) })
  return () => void Object.assign(console, { log, info, warn, error })
}

/** OpenTelemetry reads its settings from the environment of the process, which has none of config/<env>/settings.env. */
function addTracingSettings(processEnvironment: NodeJS.ProcessEnv, environment: Environment): void {
  for (const [variable, value] of Object.entries(environment))
    if (variable.startsWith('OTEL_') && value !== undefined) processEnvironment[variable] ??= value
}
