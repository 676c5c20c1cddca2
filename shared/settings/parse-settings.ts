import type { z } from 'zod'
import { isPublishedSecret } from '../secrets/published-secrets.ts'
import { SETTINGS, type SettingName, type Settings, type SettingValue } from './definitions.ts'
import type { Fault } from './fault.ts'
import { RULES } from './rules.ts'
import type { Environment, Setting } from './setting.ts'
import { SettingsError } from './settings-error.ts'

/**
 * Reads the named settings from `environment`, with the defaults of `service`; throws `SettingsError` with all faults.
 * An empty value counts as absent, since that is what `${NAME:-}` in a compose file gives.
 */
export function parseSettings<Name extends SettingName>(
  names: readonly Name[],
  environment: Environment,
  service?: string,
): Settings<Name> {
  const read = names.map((name) => [name, readSetting(name, SETTINGS[name], environment, service)] as const)
  const good = Object.fromEntries(read.flatMap(([name, { value, fault }]) => (fault ? [] : [[name, value]])))
  // Each value is of its name's type, which no type of `fromEntries` can say.
  const settings = good as Settings
  const rules = RULES.filter((rule) => rule.names.every((name) => Object.hasOwn(settings, name)))
  const faults = [
    ...read.flatMap(([, { fault }]) => fault ?? []),
    ...rules
      .flatMap((rule) => rule.findFaults(settings, environment))
      .map(([name, fault]) => toLine(name, SETTINGS[name], fault)),
  ]
  if (faults.length > 0) throw new SettingsError(faults)
  return settings
}

/** Reads one setting as `setting` declares it: its value, or what is wrong. */
export function readSetting(
  name: string,
  setting: Setting<unknown>,
  environment: Environment,
  service?: string,
): { value?: unknown; fault?: string } {
  const parsed = setting.schema.safeParse(environment[name] || defaultOf(setting, environment, service))
  const [fault] = parsed.success ? [findPublished(name, environment)] : parsed.error.issues.map(toFault)
  if (fault) return { fault: toLine(name, setting, fault) }
  return parsed.success ? { value: parsed.data } : {}
}

/** The setting, or undefined where it is neither given nor has a default; throws `SettingsError`. */
export const findSetting = <Name extends SettingName>(
  name: Name,
  environment: Environment,
): SettingValue<Name> | undefined =>
  environment[name] || defaultOf(SETTINGS[name], environment) !== undefined
    ? parseSettings([name], environment)[name]
    : undefined

/** The text of a setting that is not given; undefined where it has no default. */
function defaultOf(
  { default: fallback }: Setting<unknown>,
  environment: Environment,
  service?: string,
): string | undefined {
  return typeof fallback === 'object' ? fallback.derive(environment, service) : fallback
}

function toFault(issue: z.core.$ZodIssue): Fault {
  const remedy: unknown = issue.code === 'custom' ? issue.params?.remedy : undefined
  const { message } = issue
  return typeof remedy === 'string' ? { message, remedy } : { message }
}

function findPublished(name: string, environment: Environment): Fault | undefined {
  if (environment.APP_ENV !== 'prod' || !isPublishedSecret(environment[name] ?? '')) return undefined
  return { message: "is published in Latchkey's own repository, so anyone can know it" }
}

/** One line: the name, what is wrong, and what to do. */
const toLine = (name: string, { remedy, example }: Setting<unknown>, fault: Fault): string =>
  `${name} ${fault.message}. ${fault.remedy ?? remedy ?? `For example: ${name}=${example}`}`
