import { readFileSync } from 'node:fs'
import { findMisspelt } from '@latchkey/text/closest-name.ts'
import { z } from 'zod'
import { hasDemoUsers } from '../users/demo-users.ts'
import { readSetting } from './parse-settings.ts'
import { type Environment, list, optional, type Setting, setting, TEXT, text } from './setting.ts'
import { SettingsError } from './settings-error.ts'

/** The settings of one identity provider. The name of each follows `OIDC_<NAME>_`. */
export const PROVIDER_SETTINGS = {
  ISSUER: setting(
    TEXT.refine(
      (given) => isIssuer(given),
      'must be a URL that starts with https://, without a query and a user name',
    ),
    {
      description: 'Issuer of the provider, as its discovery document says it.',
      example: 'https://accounts.google.com',
    },
  ),
  CLIENT_ID: text({ description: 'Id under which Latchkey is registered there.', example: 'latchkey' }),
  CLIENT_SECRET: optional(
    setting(TEXT, {
      description: 'Secret of that client; without one, PKCE alone protects the exchange.',
      remedy: 'Copy it from the provider.',
      isSecret: true,
    }),
  ),
  CLIENT_SECRET_FILE: optional(
    setting(
      TEXT.transform((path, context) => {
        try {
          const secret = readFileSync(path, 'utf8').trim()
          if (secret !== '') return secret
          context.addIssue({
            code: 'custom',
            message: 'must be the path of a file with a secret; the file is empty',
          })
          return z.NEVER
        } catch (error) {
          const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason'
          context.addIssue({
            code: 'custom',
            message: `must be the path of a file that can be read (${code})`,
          })
          return z.NEVER
        }
      }),
      { description: 'Path of a file with that secret, in its place.', example: '/run/secrets/google' },
    ),
  ),
  SCOPES: setting(
    TEXT.refine((given) => given.split(' ').includes('openid'), 'must contain openid'),
    { description: 'Scopes that are requested, separated by spaces.', default: 'openid email profile' },
  ),
  LABEL: setting(
    TEXT.refine(
      (given) => /^[^\p{C}]{1,50}$/u.test(given) && given.trim() !== '',
      'must be a name of at most 50 characters in one line',
    ),
    {
      description: 'Name of the provider on its button and in mails.',
      default: { text: 'the name in OIDC_PROVIDERS', derive: () => undefined },
      example: 'Google',
    },
  ),
  SECOND_FACTOR: list(() => undefined, {
    description:
      'Values of `amr` or `acr` by which the provider says that it asked for a second factor; any suffices.',
    example: 'mfa',
  }),
} satisfies Record<string, Setting<unknown>>

type ProviderSetting = keyof typeof PROVIDER_SETTINGS

/** The values of the settings of one provider. */
export type ProviderSettings = {
  [Name in ProviderSetting]: z.output<(typeof PROVIDER_SETTINGS)[Name]['schema']>
}

/** Returns the prefix of the settings of a provider. */
export const providerPrefix = (provider: string): string =>
  `OIDC_${provider.toUpperCase().replaceAll('-', '_')}_`

/** Reads the settings of one identity provider; throws one `SettingsError` with all faults. */
export function parseProviderSettings(provider: string, environment: Environment): ProviderSettings {
  const prefix = providerPrefix(provider)
  const names = Object.keys(PROVIDER_SETTINGS) as ProviderSetting[]
  const given = { [`${prefix}LABEL`]: provider, ...environment }
  const read = names.map(
    (name) => [name, readSetting(prefix + name, PROVIDER_SETTINGS[name], given)] as const,
  )
  const values = Object.fromEntries(read.map(([name, { value }]) => [name, value])) as ProviderSettings
  const faults = [
    ...read.flatMap(([, { fault }]) => fault ?? []),
    ...findNameFaults(prefix, names, environment),
    ...findFaults(prefix, values, environment),
  ]
  if (faults.length > 0) throw new SettingsError(faults)
  return values
}

const LOOPBACK = /^127\.|^\[::1\]$|(^|\.)localhost$/

function findFaults(prefix: string, values: ProviderSettings, { APP_ENV }: Environment): string[] {
  const { ISSUER: issuer = 'https:', CLIENT_SECRET: secret, CLIENT_SECRET_FILE: file } = values
  const isClear =
    issuer.startsWith('http:') && !(hasDemoUsers(APP_ENV) && LOOPBACK.test(new URL(issuer).hostname))
  return [
    ...(isClear
      ? [`${prefix}ISSUER must start with https://; http:// is accepted on loopback in dev and test only.`]
      : []),
    ...(secret && file
      ? [`${prefix}CLIENT_SECRET and ${prefix}CLIENT_SECRET_FILE are both set. Set one of them.`]
      : []),
  ]
}

/** Describes each name that is almost one of the provider. */
const findNameFaults = (prefix: string, names: readonly string[], environment: Environment): string[] =>
  Object.keys(environment)
    .filter((given) => given.startsWith(prefix))
    .flatMap((given) => {
      const meant = findMisspelt(
        given,
        names.map((name) => prefix + name),
      )
      return meant ? [`${given} is not a setting. Did you mean ${meant}?`] : []
    })

function isIssuer(text: string): boolean {
  const url = URL.parse(text)
  return (
    url !== null &&
    /^https?:\/\/[^\s@?#\\]+$/.test(text) &&
    ['https:', 'http:'].includes(url.protocol) &&
    url.username === ''
  )
}
