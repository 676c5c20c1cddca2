import { describeSettings, type SettingDescription } from '@latchkey/shared/settings/describe-settings.ts'
import { parseConfig as parseAuthApi } from '../../services/auth-api/src/config.ts'
import { parseConfig as parseMailerWorker } from '../../services/mailer-worker/src/config.ts'
import { code, formatTable } from './markdown.ts'

const settings = describeSettings([parseAuthApi, parseMailerWorker])

/** One row for each setting of Latchkey. */
export function formatSettings(): string {
  const rows = settings.map((setting) => [
    code(setting.name),
    setting.description,
    defaultOf(setting),
    setting.unit ?? '',
    setting.example && setting.example !== setting.default ? code(setting.example) : '',
    setting.services.join(', '),
  ])
  return formatTable(['setting', 'meaning', 'default', 'unit', 'example', 'services'], rows)
}

const defaultOf = ({ default: fallback, isRequired }: SettingDescription): string =>
  isRequired ? '**required**' : (fallback ?? '')
