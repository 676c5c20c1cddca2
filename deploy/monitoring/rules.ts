import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'

const RULES_FILE = join(import.meta.dirname, 'rules.yaml')

const Alert = z.strictObject({
  alert: z.string(),
  expr: z.string(),
  for: z.string().optional(),
  labels: z.strictObject({ severity: z.enum(['critical', 'warning']) }),
  annotations: z.strictObject({ summary: z.string(), action: z.string() }),
})
export type Alert = z.output<typeof Alert>

const Recording = z.strictObject({ record: z.string(), expr: z.string() })

const Rules = z.strictObject({
  groups: z.array(z.strictObject({ name: z.string(), rules: z.array(z.union([Alert, Recording])) })),
})

/** Every rule of `rules.yaml`; throws where one has no severity, summary or action. */
export const readRules = () =>
  Rules.parse(parse(readFileSync(RULES_FILE, 'utf8'))).groups.flatMap(({ rules }) => rules)

export const readAlerts = (): Alert[] => readRules().filter((rule) => 'alert' in rule)

/** `rules.yaml` as a resource of the Prometheus operator. */
export function renderPrometheusRule(): string {
  const text = readFileSync(RULES_FILE, 'utf8')
  const groups = text.slice(text.indexOf('groups:')).replaceAll(/^(?=.)/gm, '  ')
  return `# Created from deploy/monitoring/rules.yaml by \`npm run docs\`.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: latchkey
spec:
${groups}`
}
