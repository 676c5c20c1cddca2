import { setTimeout as wait } from 'node:timers/promises'
import type { Tracer } from '@opentelemetry/api'
import type { Telemetry } from 'bullmq'
import type { Logger } from 'pino'
import { errorMessage } from '../errors/app-error.ts'

/** Runs `work` in a span of kind `client` where the caller is part of a trace; otherwise runs it as it is. */
export type RunInSpan = <Result>(
  name: string,
  attributes: Readonly<Record<string, string>>,
  work: () => Promise<Result>,
) => Promise<Result>

export interface Tracing {
  /** BullMQ's `telemetry` option, by which the trace of a request continues in the worker that takes its job. */
  readonly bull: Telemetry
  readonly runInSpan: RunInSpan
  /** The ids of the current span, under the names that OpenTelemetry gives them in logs. */
  logFields(): { trace_id?: string; span_id?: string }
  /** Sends the remaining spans, if the collector accepts them within two seconds. */
  stop(): Promise<void>
}

/** The SDK retries an unreachable collector for longer than a stop may take. */
const SHUTDOWN_TIMEOUT_MS = 2_000
/** The same warning is logged once in this time. */
const WARNING_INTERVAL_MS = 300_000

const SWITCHES = [
  'OTEL_TRACES_EXPORTER',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
] as const

/**
 * Starts OpenTelemetry traces if one of the standard settings requests them; otherwise returns undefined and loads
 * nothing. `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` or `OTEL_TRACES_EXPORTER` turn them on,
 * `OTEL_SDK_DISABLED=true` or `OTEL_TRACES_EXPORTER=none` turn them off. The SDK reads all other standard settings.
 */
export async function startTracing(
  service: string,
  environment: Readonly<Record<string, string | undefined>>,
  logger: Pick<Logger, 'warn'>,
): Promise<Tracing | undefined> {
  if (!wantsTraces(environment)) return undefined
  const [{ api, core, NodeSDK, resources }, { BullMQOtel }] = await Promise.all([
    import('@opentelemetry/sdk-node'),
    import('bullmq-otel'),
  ])
  const warn = createThrottledWarning(logger)
  const quiet = () => undefined
  api.diag.setLogger(
    { error: warn, warn, info: quiet, debug: quiet, verbose: quiet },
    { logLevel: api.DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
  const sdk = new NodeSDK({
    serviceName: environment.OTEL_SERVICE_NAME ?? service,
    // The process detector is left out: it would send the command line and the user.
    resourceDetectors: [resources.envDetector, resources.hostDetector],
    instrumentations: [],
    // Metrics go to Prometheus, logs to standard output.
    metricReaders: [],
    logRecordProcessors: [],
  })
  sdk.start()
  const tracer = api.trace.getTracer(service)
  const bull = new BullMQOtel({ tracerName: service })
  return {
    bull: { ...bull, contextManager: bull.contextManager, tracer: withoutIdleSpans(bull.tracer, api, core) },
    runInSpan: createRunInSpan(tracer, api),
    logFields() {
      const { traceId, spanId } = api.trace.getActiveSpan()?.spanContext() ?? {}
      return traceId && spanId ? { trace_id: traceId, span_id: spanId } : {}
    },
    async stop() {
      const sent = sdk.shutdown().catch((error) => warn(errorMessage(error)))
      await Promise.race([sent, wait(SHUTDOWN_TIMEOUT_MS)])
    },
  }
}

type Sdk = typeof import('@opentelemetry/sdk-node')

/** An idle worker looks for jobs every few seconds; each of these looks would be a trace. */
const withoutIdleSpans = (
  tracer: Telemetry['tracer'],
  api: Sdk['api'],
  { suppressTracing }: Sdk['core'],
): Telemetry['tracer'] => ({
  startSpan(name, options, context) {
    const isIdle = options?.kind === api.SpanKind.INTERNAL && !api.trace.getActiveSpan()
    return tracer.startSpan(name, options, isIdle ? suppressTracing(api.context.active()) : context)
  },
})

const createRunInSpan =
  (tracer: Tracer, api: Sdk['api']): RunInSpan =>
  (name, attributes, work) => {
    if (!api.trace.getActiveSpan()?.isRecording()) return work()
    return tracer.startActiveSpan(name, { kind: api.SpanKind.CLIENT, attributes }, async (span) => {
      try {
        return await work()
      } catch (error) {
        // The message belongs to the log, which redacts secrets.
        span.setStatus({ code: api.SpanStatusCode.ERROR })
        span.setAttribute('error.type', error instanceof Error ? error.constructor.name : typeof error)
        throw error
      } finally {
        span.end()
      }
    })
  }

function wantsTraces(environment: Readonly<Record<string, string | undefined>>): boolean {
  if (environment.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return false
  if (environment.OTEL_TRACES_EXPORTER === 'none') return false
  return SWITCHES.some((name) => Boolean(environment[name]))
}

/** An unreachable collector fails every few seconds. */
function createThrottledWarning(logger: Pick<Logger, 'warn'>): (reason: string) => void {
  let last: { reason: string; at: number } | undefined
  return (text) => {
    const reason = messageIn(text)
    if (last?.reason === reason && Date.now() - last.at < WARNING_INTERVAL_MS) return
    last = { reason, at: Date.now() }
    logger.warn({ reason }, 'traces cannot be collected')
  }
}

/** OpenTelemetry passes an error as JSON with its stack. */
function messageIn(text: string): string {
  const message = /^\{.*"message":("(?:[^"\\]|\\.)*")/s.exec(text)?.[1]
  return message ? String(JSON.parse(message)) : text
}
