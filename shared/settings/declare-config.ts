import type { SettingName, SettingValue } from './definitions.ts'
import { parseSettings } from './parse-settings.ts'
import type { Environment } from './setting.ts'

/** Names of settings, in groups and under the keys that a service's code uses. */
interface Names {
  readonly [key: string]: SettingName | Names
}
type Values<Declared> = Declared extends SettingName
  ? SettingValue<Declared>
  : { [Key in keyof Declared]: Values<Declared[Key]> }

/**
 * Declares the settings of a service. The result reads them from an environment, with the defaults of the service, in the
 * shape of `declared`; it throws one `SettingsError` with all faults. Its `names` are what the service reads.
 */
export function declareConfig<const Declared extends Names>(service: string, declared: Declared) {
  const names = [...new Set(namesIn(declared))]

  function parseConfig(environment: Environment): Values<Declared> {
    const settings = parseSettings(names, environment, service)
    const valuesOf = (group: Names): unknown =>
      Object.fromEntries(
        Object.entries(group).map(([key, entry]) => [
          key,
          typeof entry === 'string' ? settings[entry] : valuesOf(entry),
        ]),
      )
    // `valuesOf` keeps the shape of `declared`, which no type can say.
    return valuesOf(declared) as Values<Declared>
  }

  return Object.assign(parseConfig, { service, names })
}

const namesIn = (group: Names): SettingName[] =>
  Object.values(group).flatMap((entry) => (typeof entry === 'string' ? entry : namesIn(entry)))
