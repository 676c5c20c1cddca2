import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CONFIG_DIR } from '@latchkey/shared/settings/environment.ts'
import { SettingsError } from '@latchkey/shared/settings/settings-error.ts'
import type { MailEnvelope } from './envelope/mail-envelope.ts'
import { BUILT_IN_SENDERS } from './senders/built-in-senders.ts'
import type { SenderFactory, SenderRegistry } from './senders/sender.ts'

export interface External {
  envelope: MailEnvelope
  senders: SenderRegistry
}

/** Loads `config/<environment>/external.ts` if it exists, or `config/external.ts`; throws `SettingsError`. */
export async function loadExternal(environment: string, configDir: string = CONFIG_DIR): Promise<External> {
  const own = join(configDir, environment, 'external.ts')
  const path = existsSync(own) ? own : join(configDir, 'external.ts')
  const {
    MAIL_ENVELOPE,
    SENDERS = BUILT_IN_SENDERS,
  }: { MAIL_ENVELOPE?: MailEnvelope; SENDERS?: SenderRegistry } = await import(pathToFileURL(path).href)
  if (typeof MAIL_ENVELOPE !== 'function')
    throw new SettingsError([
      `${path} does not export a function MAIL_ENVELOPE; export one, or re-export that of ../external.ts.`,
    ])
  return { envelope: MAIL_ENVELOPE, senders: SENDERS }
}

/** The sender for the scheme of MAIL_URL; throws `SettingsError`, which does not show the URL. */
export function pickSender(senders: SenderRegistry, url: string): SenderFactory {
  const scheme = new URL(url).protocol.slice(0, -1)
  const factory = Object.hasOwn(senders, scheme) ? senders[scheme] : undefined
  if (factory) return factory
  const known = Object.keys(senders).map((name) => `${name}:`)
  throw new SettingsError([
    `MAIL_URL has the scheme ${scheme}:, for which no sender is registered; use ${known.join(', ')}.`,
  ])
}
