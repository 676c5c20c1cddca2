import { CliError, EXIT } from '../../io/cli-error.ts'
import { isRecord } from '../../io/json-object.ts'
import type { FoundService } from '../inspect-service.ts'
import { environmentFile } from '../paths.ts'
import type { RestartPolicy } from '../service.ts'

/** The options of `install` as typed; what is absent was not given. None of the texts has been checked. */
export interface InstallOptions extends RecordedOptions {
  readonly name: string
  readonly template?: string
  readonly env?: readonly string[]
  readonly envFile?: readonly string[]
  readonly enable?: boolean
  readonly start?: boolean
  readonly dryRun?: boolean
  /** True where an installed service of scriptify may be replaced. */
  readonly force?: boolean
  /** `/`, or the folder where the files of another host are mounted; there nothing is reloaded or started. */
  readonly root: string
}

/** The options that a service keeps when it is installed again. */
export interface RecordedOptions {
  readonly class?: string
  readonly rootdir?: string
  readonly bootstrap?: string
  readonly args?: readonly string[]
  readonly runtime?: 'php' | 'node'
  readonly description?: string
  readonly user?: string
  readonly group?: string
  readonly schedule?: string
  readonly daemon?: boolean
  readonly interval?: number
  readonly hardening?: boolean
  readonly memoryMax?: string
  readonly restart?: RestartPolicy
  readonly after?: readonly string[]
  /** The variables of scriptify itself that an installation reads, such as SCRIPTIFY_MEMORY_LIMIT. */
  readonly settings?: Readonly<Record<string, string>>
}

const RECORDED = [
  ...['class', 'rootdir', 'bootstrap', 'args', 'runtime', 'description', 'user', 'group', 'schedule'],
  ...['daemon', 'interval', 'hardening', 'memoryMax', 'restart', 'after', 'settings'],
]
const RECORD = /^# scriptify: installed with (\{.*\})$/

/** The line of an environment file, which only root may read, that keeps what a service was installed with. */
export const formatRecord = (options: RecordedOptions): string =>
  `# scriptify: installed with ${JSON.stringify({ options: pickRecorded(options) })}`

/** Reads that line; undefined for a service of an earlier version, or where somebody has changed it. */
export function readRecord(text: string): RecordedOptions | undefined {
  const [, json = ''] = text.split('\n', 3).flatMap((line) => RECORD.exec(line.trim()) ?? [])
  try {
    const record: unknown = JSON.parse(json)
    return isRecord(record) && isRecord(record.options) ? pickRecorded(record.options) : undefined
  } catch {
    return undefined
  }
}

/** True for the line that keeps what a service was installed with. */
export const isRecordLine = (line: string): boolean => RECORD.test(line.trim())

const pickRecorded = (options: RecordedOptions): RecordedOptions =>
  Object.fromEntries(Object.entries(options).filter(([name]) => RECORDED.includes(name)))

/**
 * Adds what the installed service was installed with and is not given again, and names it. Throws exit code 2 where that is
 * unknown, and the account is not given.
 */
export function addRecorded(
  given: InstallOptions,
  { units, environment }: FoundService,
): { options: InstallOptions; kept: string[] } {
  const { name, user } = given
  const record = given.force ? readRecord(environment?.text ?? '') : undefined
  const isInstalled = units.some(({ owner }) => owner === 'own')
  if (given.force && record === undefined && isInstalled && user === undefined) {
    throw new CliError(
      `${environmentFile(name)} does not say what ${name} was installed with: install it with --force and all its options, --user too`,
      EXIT.usage,
    )
  }
  const added = dropChanged(record ?? {}, given)
  const settings = { ...record?.settings, ...given.settings }
  const keptSettings = Object.keys(settings).filter(
    (setting) => !Object.hasOwn(given.settings ?? {}, setting),
  )
  const kept = [...Object.entries(added).map(toOption), ...keptSettings]
  return { options: { ...added, ...given, settings }, kept }
}

/** The option as one types it: `--no-hardening` for `hardening: false`. */
const toOption = ([name, value]: [string, unknown]): string =>
  `--${value === false ? 'no-' : ''}${name.replace('args', 'arg').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

/** Drops recorded options that are given again, and those that belong to one that changed. */
function dropChanged(recorded: RecordedOptions, given: RecordedOptions): RecordedOptions {
  const dropped = [
    'settings',
    ...(given.class !== undefined && given.class !== recorded.class ? ['args'] : []),
    ...(given.user !== undefined && given.user !== recorded.user ? ['group'] : []),
    ...(given.daemon === false ? ['interval'] : []),
    // A service that runs all the time takes no schedule, and is told so.
    ...(given.schedule !== undefined ? ['daemon', 'interval', 'restart'] : []),
  ]
  return Object.fromEntries(
    Object.entries(recorded).filter(([name]) => !Object.hasOwn(given, name) && !dropped.includes(name)),
  )
}
