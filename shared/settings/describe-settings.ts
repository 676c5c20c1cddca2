import { SETTING_GROUPS } from './definitions.ts'
import type { Setting } from './setting.ts'

/** What the reference page says about one setting. */
export interface SettingDescription {
  group: string
  name: string
  /** One sentence in Markdown. */
  description: string
  unit: string | undefined
  /** In words where it depends on something; undefined where there is none. */
  default: string | undefined
  isRequired: boolean
  /** Undefined for secrets. */
  example: string | undefined
  isSecret: boolean
  /** The services whose configuration has the setting. */
  services: readonly string[]
}

/** Describes every setting, in the order of its groups, for the `services` that `declareConfig` returned. */
export const describeSettings = (
  services: readonly { service: string; names: readonly string[] }[],
): SettingDescription[] =>
  Object.entries(SETTING_GROUPS).flatMap(([group, settings]) =>
    Object.entries<Setting<unknown>>(settings).map(([name, setting]) => ({
      group,
      name,
      description: setting.description,
      unit: setting.unit,
      default: typeof setting.default === 'object' ? setting.default.text : setting.default || undefined,
      isRequired: setting.default === undefined && !setting.schema.safeParse(undefined).success,
      example: setting.example,
      isSecret: setting.isSecret ?? false,
      services: services.filter(({ names }) => names.includes(name)).map(({ service }) => service),
    })),
  )
