import { AUDIT_EVENTS, type AuditEventName, isOpenEvent } from '@latchkey/shared/audit/audit-events.ts'
import { AppError, type ErrorCode } from '@latchkey/shared/errors/app-error.ts'
import { SETTINGS } from '@latchkey/shared/settings/definitions.ts'
import { PROVIDER_SETTINGS } from '@latchkey/shared/settings/provider-settings.ts'
import type { Setting } from '@latchkey/shared/settings/setting.ts'
import type { Registry } from 'prom-client'
import { z } from 'zod'
import type { Alert } from '../../deploy/monitoring/rules.ts'
import { parseConfig as parseAuthApi } from '../../services/auth-api/src/config.ts'
import {
  fromStatus,
  PROBLEMS,
  type Problem,
  toProblem,
} from '../../services/auth-api/src/http/problem-details.ts'
import { parseConfig as parseMailerWorker } from '../../services/mailer-worker/src/config.ts'
import { code, formatTable } from './markdown.ts'

const SERVICES = [parseAuthApi, parseMailerWorker]
/** Statuses that Fastify and Node answer before a route handles the request. */
const PROTOCOL_STATUSES = [400, 404, 405, 408, 413, 415, 431, 500]

const Operation = z.object({
  summary: z.string(),
  security: z.array(z.unknown()),
})
const OpenapiDocument = z.object({ paths: z.record(z.string(), z.record(z.string(), Operation)) })

/** A table of the settings for each set of services that read them. */
export function formatSettings(): string {
  const groups = Map.groupBy(Object.entries<Setting<unknown>>(SETTINGS), ([name]) => readersOf(name))
  return READERS.map((readers) => {
    const settings = groups.get(readers) ?? []
    const rows = settings.map(([name, setting]) => [code(name), setting.description, defaultOf(setting)])
    return `## ${readers}\n\n${formatTable(['setting', 'meaning', 'default'], rows)}`
  }).join('\n\n')
}

const READERS = ['auth-api and mailer-worker', 'auth-api', 'mailer-worker', 'Others']

const readersOf = (name: string): string =>
  SERVICES.filter(({ names }) => names.some((known) => known === name))
    .map(({ service }) => service)
    .join(' and ') || 'Others'

/** The default, with its unit; an example where there is none. */
function defaultOf({ default: fallback, schema, unit, example }: Setting<unknown>): string {
  if (typeof fallback === 'object') return [fallback.text, unit].filter(Boolean).join('; ')
  if (fallback) return [fallback, unit].filter(Boolean).join(' ')
  const isRequired = !schema.safeParse(fallback).success
  const format = example ? `such as ${code(example)}` : unit
  return [isRequired ? '**required**' : '', format].filter(Boolean).join('; ')
}

/** The table of the settings of one identity provider. */
export function formatProviderSettings(): string {
  const rows = Object.entries<Setting<unknown>>(PROVIDER_SETTINGS).map(([name, setting]) => [
    code(`OIDC_<NAME>_${name}`),
    setting.description,
    defaultOf(setting),
  ])
  return formatTable(['setting', 'meaning', 'default'], rows)
}

/** The table of the operations of an OpenAPI document. */
export function formatOperations(openapi: unknown): string {
  const rows = Object.entries(OpenapiDocument.parse(openapi).paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { summary, security }]) => [
      code(`${method.toUpperCase()} ${path}`),
      summary,
      security.length > 0 ? 'Bearer' : '',
    ]),
  )
  return formatTable(['request', 'purpose', 'token'], rows)
}

/** The table of the problem types of Latchkey's own errors. */
export const formatProblems = (): string =>
  formatTypes(Object.keys(PROBLEMS).map((name) => toProblem(new AppError(name as ErrorCode, ''))))

/** The table of the problem types that only a status describes. */
export const formatProtocolProblems = (): string =>
  formatTypes(PROTOCOL_STATUSES.map((status) => fromStatus(status)))

const formatTypes = (problems: readonly Problem[]): string =>
  formatTable(
    ['type', 'status', 'title'],
    problems.map(({ type, status, title }) => [code(type), String(status), title]),
  )

/** The table of the events of the audit trail. */
export function formatAuditEvents(): string {
  const names = Object.keys(AUDIT_EVENTS) as AuditEventName[]
  const rows = names.map((name) => [
    code(name),
    isOpenEvent(name) ? 'yes' : '',
    AUDIT_EVENTS[name].description,
  ])
  return formatTable(['event', 'open', 'meaning'], rows)
}

/** The table of the metrics of a registry. Nothing is collected. */
export function formatMetrics(registry: Registry): string {
  const rows = registry
    .getMetricsAsArray()
    .map(({ name, type, help, ...metric }) => [code(name), String(type), labelsOf(metric), help])
    .toSorted(([a = ''], [b = '']) => a.localeCompare(b))
  return formatTable(['metric', 'type', 'labels', 'meaning'], rows)
}

/** prom-client declares no `labelNames` on what `getMetricsAsArray` returns. */
function labelsOf(metric: object): string {
  const names = 'labelNames' in metric && Array.isArray(metric.labelNames) ? metric.labelNames : []
  return names.map((name) => code(String(name))).join(', ')
}

/** The table of the alerts. */
export const formatAlerts = (alerts: readonly Alert[]): string =>
  formatTable(
    ['alert', 'severity', 'what it means'],
    alerts.map(({ alert, labels, annotations }) => [code(alert), labels.severity, annotations.summary]),
  )
