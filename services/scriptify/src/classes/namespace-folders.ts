import { isRecord } from '../io/json-object.ts'

/** A folder or several for each prefix of a class name. Checked by hand: a library would take half of a command's start. */
export type NamespaceFolders = Record<string, string | string[]>

export const isNamespaceFolders = (value: unknown): value is NamespaceFolders =>
  isRecord(value) && Object.values(value).every(isFolders)

const isFolders = (value: unknown): boolean =>
  typeof value === 'string' || (Array.isArray(value) && value.every((folder) => typeof folder === 'string'))

/** A class, and the file that declares it by the project's map of namespaces to folders. */
export interface ClassFile {
  readonly name: string
  /** The absolute path of the file. */
  readonly file: string
}
