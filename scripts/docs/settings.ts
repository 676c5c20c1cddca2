import { SETTINGS } from '@latchkey/shared/settings/definitions.ts'
import type { Setting } from '@latchkey/shared/settings/setting.ts'
import { parseConfig as parseAuthApi } from '../../services/auth-api/src/config.ts'
import { parseConfig as parseMailerWorker } from '../../services/mailer-worker/src/config.ts'
import { code, formatTable } from './markdown.ts'

const SERVICES = [parseAuthApi, parseMailerWorker]

/** One row for each setting of Latchkey. */
export function formatSettings(): string {
  const rows = Object.entries<Setting<unknown>>(SETTINGS).map(([name, setting]) => [
    code(name),
    setting.description,
    defaultOf(setting),
    setting.unit ?? '',
    setting.example && setting.example !== setting.default ? code(setting.example) : '',
    SERVICES.filter(({ names }) => names.some((known) => known === name))
      .map(({ service }) => service)
      .join(', '),
  ])
  return formatTable(['setting', 'meaning', 'default', 'unit', 'example', 'services'], rows)
}

function defaultOf({ default: fallback, schema }: Setting<unknown>): string {
  if (fallback === undefined) return schema.safeParse(undefined).success ? '' : '**required**'
  return typeof fallback === 'object' ? fallback.text : fallback
}
