import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CONFIG_DIR } from '@latchkey/shared/settings/environment.ts'
import { parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import type { Environment } from '@latchkey/shared/settings/setting.ts'
import { parseBoth, SettingsError } from '@latchkey/shared/settings/settings-error.ts'
import type { MailEnvelope } from './envelope/mail-envelope.ts'
import { BUILT_IN_SENDERS } from './senders/built-in-senders.ts'
import type { SenderFactory, SenderRegistry } from './senders/sender.ts'

export interface External {
  envelope: MailEnvelope
  /** The factory of the sender for the scheme of MAIL_URL. */
  createSender: SenderFactory
}

interface Exports {
  MAIL_ENVELOPE?: MailEnvelope
  SENDERS?: SenderRegistry
}

/** Loads `config/<APP_ENV>/external.ts` if it exists, or `config/external.ts`; throws `SettingsError` with all faults. */
export async function loadExternal(
  environment: Environment,
  configDir: string = CONFIG_DIR,
): Promise<External> {
  const { APP_ENV } = parseSettings(['APP_ENV'], environment)
  const own = join(configDir, APP_ENV, 'external.ts')
  const path = existsSync(own) ? own : join(configDir, 'external.ts')
  const { MAIL_ENVELOPE, SENDERS = BUILT_IN_SENDERS }: Exports = await import(pathToFileURL(path).href)
  const [envelope, createSender] = await parseBoth(
    () => requireEnvelope(MAIL_ENVELOPE, path),
    () => pickSender(SENDERS, parseSettings(['MAIL_URL'], environment).MAIL_URL),
  )
  return { envelope, createSender }
}

function requireEnvelope(envelope: MailEnvelope | undefined, path: string): MailEnvelope {
  if (typeof envelope === 'function') return envelope
  throw new SettingsError([
    `${path} does not export a function MAIL_ENVELOPE; export one, or re-export that of ../external.ts.`,
  ])
}

/** The message does not show the URL, which may have a password. */
function pickSender(senders: SenderRegistry, url: string): SenderFactory {
  const scheme = new URL(url).protocol.slice(0, -1)
  const factory = Object.hasOwn(senders, scheme) ? senders[scheme] : undefined
  if (factory) return factory
  const known = Object.keys(senders).map((name) => `${name}:`)
  throw new SettingsError([
    `MAIL_URL has the scheme ${scheme}:, for which no sender is registered; use ${known.join(', ')}.`,
  ])
}
