import type { z } from 'zod'
import { isPublishedSecret } from '../secrets/published-secrets.ts'
import { SETTINGS, type SettingName, type SettingValue } from './definitions.ts'
import type { Environment, Fault, Setting } from './setting.ts'
import { SettingsError } from './settings-error.ts'

export type Settings<Name extends SettingName = SettingName> = { [Key in Name]: SettingValue<Key> }

/**
 * Reads the named settings from `environment`, with the defaults of `service`; throws `SettingsError` with all faults.
 * An empty value counts as absent, since that is what `${NAME:-}` in a compose file gives.
 */
export function parseSettings<Name extends SettingName>(
  names: readonly Name[],
  environment: Environment,
  service?: string,
): Settings<Name> {
  const { values, faults } = readSettings(names, environment, service)
  if (faults.size > 0) throw new SettingsError([...faults.values()])
  return values
}

/** `parseSettings` that throws nothing: a setting is either in `values` or, with what is wrong, in `faults`. */
export function readSettings<Name extends SettingName>(
  names: readonly Name[],
  environment: Environment,
  service?: string,
): { values: Settings<Name>; faults: Map<SettingName, string> } {
  const values: { [Key in SettingName]?: unknown } = {}
  const faults = new Map<SettingName, string>()
  for (const name of names) {
    const text = environment[name] || defaultOf(name, environment, service)
    const parsed = SETTINGS[name].schema.safeParse(text)
    const fault = parsed.success ? findPublished(name, environment) : toFault(parsed.error.issues[0])
    if (fault) faults.set(name, describeFault(name, fault))
    else values[name] = parsed.data
  }
  return { values: values as Settings<Name>, faults }
}

/** The setting, or undefined where it is neither given nor has a default; throws `SettingsError`. */
export const findSetting = <Name extends SettingName>(
  name: Name,
  environment: Environment,
): SettingValue<Name> | undefined =>
  environment[name] || defaultOf(name, environment) !== undefined
    ? parseSettings([name], environment)[name]
    : undefined

/** The text of a setting that is not given; undefined where it has no default. */
function defaultOf(name: SettingName, environment: Environment, service?: string): string | undefined {
  const { default: fallback }: Setting<unknown> = SETTINGS[name]
  return typeof fallback === 'object' ? fallback.derive(environment, service) : fallback
}

function toFault(issue: z.core.$ZodIssue | undefined): Fault {
  const remedy: unknown = issue?.code === 'custom' ? issue.params?.remedy : undefined
  const message = issue?.message ?? 'cannot be used'
  return typeof remedy === 'string' ? { message, remedy } : { message }
}

function findPublished(name: SettingName, environment: Environment): Fault | undefined {
  if (environment.APP_ENV !== 'prod' || !isPublishedSecret(environment[name] ?? '')) return undefined
  return { message: "is published in Latchkey's own repository, so anyone can know it" }
}

/** One line: the name, what is wrong, and what to do. */
export function describeFault(name: SettingName, fault: Fault): string {
  const { remedy, example }: Setting<unknown> = SETTINGS[name]
  return `${name} ${fault.message}. ${fault.remedy ?? remedy ?? `For example: ${name}=${example}`}`
}
