import type { SettingName, SettingValue } from './definitions.ts'
import { describeFault, readSettings, type Settings } from './parse-settings.ts'
import type { Environment, Fault } from './setting.ts'
import { collectFaults, SettingsError } from './settings-error.ts'

/** Settings under the names that a service's code uses: one setting, a value derived from some, or a group. */
export interface Group {
  readonly [key: string]: Entry
}
type Entry = SettingName | Derived<unknown> | Group

/** A value made of settings that are each valid. */
export interface Derived<Value> {
  readonly names: readonly SettingName[]
  /** Throws `SettingsError`. */
  readonly derive: (settings: Settings) => Value
}

/** The values of a group, in its shape. */
export type ConfigOf<Declared> = Declared extends SettingName
  ? SettingValue<Declared>
  : Declared extends Derived<infer Value>
    ? Value
    : { [Key in keyof Declared]: ConfigOf<Declared[Key]> }

/**
 * Declares the settings of a service, grouped by what needs them. The result reads them from an environment, with the
 * defaults of the service, and throws one `SettingsError` with every fault. Its `names` are what the service reads.
 */
export function declareConfig<const Declared extends Group>(service: string, groups: Declared) {
  const names = [...new Set(namesOf(groups))]

  function parseConfig(environment: Environment): ConfigOf<Declared> {
    const { values, faults } = readSettings(names, environment, service)
    const derivable = derivedIn(groups).filter((each) => !each.names.some((name) => faults.has(name)))
    const all = [...faults.values(), ...collectFaults(...derivable.map((each) => () => each.derive(values)))]
    if (all.length > 0) throw new SettingsError(all)
    // `fill` keeps the shape of `groups`, which no type can say.
    return fill(groups, values) as ConfigOf<Declared>
  }

  return Object.assign(parseConfig, { service, names })
}

/** A value that a service derives from one setting; where `derive` returns undefined, `fault` says what is wrong. */
export const derived = <Name extends SettingName, Value>(
  name: Name,
  derive: (value: SettingValue<Name>) => Value | undefined,
  fault: Fault,
): Derived<Value> => ({
  names: [name],
  derive: (settings) => {
    const value = derive(settings[name])
    if (value === undefined) throw new SettingsError([describeFault(name, fault)])
    return value
  },
})

/** Settings that are given together or not at all; undefined where none is. */
export function allOrNone<const Fields extends Readonly<Record<string, SettingName>>>(fields: Fields) {
  const names = Object.values(fields)
  type Whole = { [Key in keyof Fields]: NonNullable<SettingValue<Fields[Key]>> }
  const derive = (settings: Settings): Whole | undefined => {
    const missing = names.filter((name) => settings[name] === undefined)
    if (missing.length === names.length) return undefined
    const rule = `Set all of ${names.join(', ')} or none of them.`
    if (missing.length > 0) throw new SettingsError(missing.map((name) => `${name} is missing. ${rule}`))
    return fill(fields, settings) as Whole
  }
  return { names, derive } satisfies Derived<Whole | undefined>
}

/** A group whose keys are the names of its settings. */
export const underTheirNames = <const Name extends SettingName>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, name])) as { readonly [Key in Name]: Key }

const isDerived = (entry: Derived<unknown> | Group): entry is Derived<unknown> =>
  typeof entry.derive === 'function'

function namesOf(entry: Entry): readonly SettingName[] {
  if (typeof entry === 'string') return [entry]
  return isDerived(entry) ? entry.names : Object.values(entry).flatMap(namesOf)
}

function derivedIn(entry: Entry): Derived<unknown>[] {
  if (typeof entry === 'string') return []
  return isDerived(entry) ? [entry] : Object.values(entry).flatMap(derivedIn)
}

function fill(entry: Entry, settings: Settings): unknown {
  if (typeof entry === 'string') return settings[entry]
  if (isDerived(entry)) return entry.derive(settings)
  return Object.fromEntries(Object.entries(entry).map(([key, each]) => [key, fill(each, settings)]))
}
