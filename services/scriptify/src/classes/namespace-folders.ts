import { isRecord } from './record.ts'

/** A folder or several for each prefix of a class name. Checked by hand: a library would take half of a command's start. */
export type NamespaceFolders = Record<string, string | string[]>

export const isNamespaceFolders = (value: unknown): value is NamespaceFolders =>
  isRecord(value) && Object.values(value).every(isFolders)

const isFolders = (value: unknown): boolean =>
  typeof value === 'string' || (Array.isArray(value) && value.every((folder) => typeof folder === 'string'))
