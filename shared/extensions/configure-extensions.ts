import { findMisspelt } from '@latchkey/text/closest-name.ts'
import { readSetting } from '../settings/parse-settings.ts'
import type { Environment } from '../settings/setting.ts'
import { SettingsError } from '../settings/settings-error.ts'
import { settingPrefix } from './find-extensions.ts'
import type { LoadedExtension } from './load-extensions.ts'

/** An extension with the values of its settings. */
export interface ConfiguredExtension extends LoadedExtension {
  values: Readonly<Record<string, unknown>>
}

/** Reads the settings of the extensions; throws one `SettingsError` with all faults. */
export function configureExtensions(
  extensions: readonly LoadedExtension[],
  environment: Environment,
): ConfiguredExtension[] {
  const faults: string[] = extensions.flatMap((extension) => findNameFaults(extension, environment))
  const configured = extensions.map((extension) => {
    const read = Object.entries(extension.settings).map(
      ([name, setting]) => [name, readSetting(name, setting, environment)] as const,
    )
    faults.push(...read.flatMap(([, { fault }]) => fault ?? []))
    return { ...extension, values: Object.fromEntries(read.map(([name, { value }]) => [name, value])) }
  })
  if (faults.length > 0) throw new SettingsError(faults)
  return configured
}

/** Describes each misspelt name of a setting, in the process environment too, since the prefix belongs to the extension. */
function findNameFaults({ name, settings }: LoadedExtension, environment: Environment): string[] {
  const given = Object.keys(environment).filter((each) => each.startsWith(settingPrefix(name)))
  return given.flatMap((each) => {
    const meant = findMisspelt(each, Object.keys(settings))
    return meant ? [`${each} is not a setting. Did you mean ${meant}?`] : []
  })
}
