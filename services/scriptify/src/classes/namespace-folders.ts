/** A folder or several for each prefix of a class name. Checked by hand: a library would take half of a command's start. */
export type NamespaceFolders = Record<string, string | string[]>

export const isNamespaceFolders = (value: unknown): value is NamespaceFolders =>
  isRecord(value) && Object.values(value).every(isFolders)

const isFolders = (value: unknown): boolean =>
  typeof value === 'string' || (Array.isArray(value) && value.every((folder) => typeof folder === 'string'))

/** An object with properties of unknown types, as JSON gives it. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A property of an object; undefined where there is neither. */
export const propertyOf = (value: unknown, name: string): unknown =>
  isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined

/** A class, and the file that declares it by the project's map of namespaces to folders. */
export interface ClassFile {
  readonly name: string
  /** The absolute path of the file. */
  readonly file: string
}
