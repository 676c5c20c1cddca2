/** A class, and the file that declares it by the project's map of namespaces to folders. */
export interface ClassFile {
  readonly name: string
  /** Absolute. */
  readonly file: string
}
