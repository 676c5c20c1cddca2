import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { isRecord } from '../../io/json-object.ts'
import type { FoundFile } from '../inspect-service.ts'

/** What `install` is told about a service, and keeps for the next installation. */
export interface ServiceOptions {
  readonly class?: string
  readonly rootdir?: string
  readonly bootstrap?: string
  readonly args?: readonly string[]
  readonly runtime?: 'php' | 'node'
  readonly allowOutside?: boolean
  readonly description?: string
  readonly user?: string
  readonly group?: string
  readonly schedule?: string
  readonly daemon?: boolean
  readonly interval?: number
  readonly hardening?: boolean
  readonly privateTmp?: boolean
  readonly memoryMax?: string
  readonly home?: string
  readonly program?: string
  /** The variables of scriptify itself that an installation reads. */
  readonly settings?: Readonly<Record<string, string>>
}

/** What the installation of a service has recorded. */
export interface InstallationRecord {
  readonly options: ServiceOptions
  /** A digest of each file by its path, which tells whether somebody has edited it. */
  readonly digests: Readonly<Record<string, string>>
}

const RECORD = /^# scriptify: installed with (\{.*\})$/

/** The line of an environment file that keeps what a service was installed with. */
export function formatRecord(
  options: ServiceOptions,
  files: readonly { path: string; content: string }[],
): string {
  const digests = Object.fromEntries(files.map(({ path, content }) => [path, digestOf(content)]))
  return `# scriptify: installed with ${JSON.stringify({ options, digests })}`
}

/** Reads that line; undefined for a service of an earlier version, or where somebody has changed it. */
export function readRecord(text: string): InstallationRecord | undefined {
  const [, json = ''] = text.split('\n', 3).flatMap((line) => RECORD.exec(line) ?? [])
  try {
    const record: unknown = JSON.parse(json)
    return isInstallationRecord(record) ? record : undefined
  } catch {
    return undefined
  }
}

/** Whether a line is the one that keeps what a service was installed with. */
export const isRecordLine = (line: string): boolean => RECORD.test(line)

const isInstallationRecord = (value: unknown): value is InstallationRecord =>
  isRecord(value) && isRecord(value.options) && isRecord(value.digests)

/** The paths of those files below `root` that somebody has edited since their installation. */
export const findEdited = (
  files: readonly Pick<FoundFile, 'path' | 'text'>[],
  { digests }: Pick<InstallationRecord, 'digests'>,
  root: string,
): string[] =>
  Object.entries(digests)
    .map(([path, digest]) => ({ digest, file: files.find((file) => file.path === join(root, path)) }))
    .flatMap(({ digest, file }) => (file !== undefined && digest !== digestOf(file.text) ? file.path : []))

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Drops kept options that are given again, and those that belong to one that changed. */
export function dropChanged(kept: ServiceOptions, given: ServiceOptions): ServiceOptions {
  const dropped = [
    ...(given.class !== undefined && given.class !== kept.class ? ['args'] : []),
    ...(given.user !== undefined && given.user !== kept.user ? ['group'] : []),
    ...(given.daemon === false ? ['interval'] : []),
  ]
  return Object.fromEntries(
    Object.entries(kept).filter(
      ([name]) => name === 'settings' || !(Object.hasOwn(given, name) || dropped.includes(name)),
    ),
  )
}

/** The options as one types them, for a message. */
export const formatOptions = (options: ServiceOptions): string =>
  Object.entries(options)
    .flatMap(([name, value]) => {
      const option = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
      if (typeof value === 'object' && !Array.isArray(value))
        return Object.entries(value).map((entry) => entry.join('='))
      if (Array.isArray(value)) return value.map((arg) => `--arg ${JSON.stringify(arg)}`).join(' ')
      if (typeof value === 'boolean') return value ? `--${option}` : `--no-${option}`
      return `--${option} ${value}`
    })
    .join(' ')
