import { setTimeout as wait } from 'node:timers/promises'
import type { Telemetry } from 'bullmq'
import type { Logger } from 'pino'

export interface Tracing {
  /** For BullMQ's `telemetry` option: the trace of a request goes on in the worker that takes its job. */
  readonly bull: Telemetry
  /** Sends what was not sent yet, if the collector takes it within two seconds. */
  stop(): Promise<void>
}

/** A collector that is away is tried again for longer than a stop may take. */
const GOODBYE_MS = 2_000
const REPEAT_MS = 300_000

const SWITCHES = [
  'OTEL_TRACES_EXPORTER',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
] as const

/**
 * Starts OpenTelemetry traces when one of the standard settings asks for them, else undefined and nothing is loaded:
 * `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` or `OTEL_TRACES_EXPORTER` switch them on,
 * `OTEL_SDK_DISABLED=true` or `OTEL_TRACES_EXPORTER=none` off. All others of the standard names hold too.
 */
export async function startTracing(
  service: string,
  environment: Readonly<Record<string, string | undefined>>,
  logger: Pick<Logger, 'warn'>,
): Promise<Tracing | undefined> {
  if (!wantsTraces(environment)) return undefined
  // The SDK reads its settings from the process itself; those of config/<env>/settings.env are not there yet.
  for (const [name, value] of Object.entries(environment)) {
    if (name.startsWith('OTEL_') && value !== undefined) process.env[name] ??= value
  }
  const [{ api, NodeSDK, resources }, { BullMQOtel }] = await Promise.all([
    import('@opentelemetry/sdk-node'),
    import('bullmq-otel'),
  ])
  const warn = warnNowAndThen(logger)
  const quiet = () => undefined
  api.diag.setLogger(
    { error: warn, warn, info: quiet, debug: quiet, verbose: quiet },
    { logLevel: api.DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
  const sdk = new NodeSDK({
    serviceName: environment.OTEL_SERVICE_NAME ?? service,
    // Not the process's own: it would tell the command line and the user.
    resourceDetectors: [resources.envDetector, resources.hostDetector],
    instrumentations: [],
    // Metrics are Prometheus's, logs are standard output's.
    metricReaders: [],
    logRecordProcessors: [],
  })
  sdk.start()
  return {
    bull: new BullMQOtel({ tracerName: service }),
    async stop() {
      const sent = sdk
        .shutdown()
        .catch((error) => warn(error instanceof Error ? error.message : String(error)))
      await Promise.race([sent, wait(GOODBYE_MS)])
    },
  }
}

function wantsTraces(environment: Readonly<Record<string, string | undefined>>): boolean {
  if (environment.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return false
  if (environment.OTEL_TRACES_EXPORTER === 'none') return false
  return SWITCHES.some((name) => Boolean(environment[name]))
}

/** A collector that is away fails every few seconds: the same is said once in `REPEAT_MS`. */
function warnNowAndThen(logger: Pick<Logger, 'warn'>): (reason: string) => void {
  let said: { reason: string; at: number } | undefined
  return (text) => {
    const reason = messageIn(text)
    if (said?.reason === reason && Date.now() - said.at < REPEAT_MS) return
    said = { reason, at: Date.now() }
    logger.warn({ reason }, 'traces cannot be collected')
  }
}

/** OpenTelemetry hands an error over as JSON, stack and all. */
function messageIn(text: string): string {
  const message = /^\{.*"message":("(?:[^"\\]|\\.)*")/s.exec(text)?.[1]
  return message ? String(JSON.parse(message)) : text
}
