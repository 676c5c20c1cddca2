import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** The folder `extensions/` of this checkout or image. */
export const EXTENSIONS_DIR: string = join(import.meta.dirname, '..', '..', 'extensions')

/** The extension that comes with Latchkey, as an example. */
export const SHIPPED_EXTENSION = 'sample-protected'

/** The file that makes a folder an extension. */
export const ENTRY = 'extension.ts'

/** The folders in an extension that services find without its code. */
export const EMAILS = 'emails'
export const MIGRATIONS = 'migrations'

/** The folder of one extension, which is named like it. */
export interface ExtensionFolder {
  name: string
  dir: string
}

const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/
/** The record of a migration has 100 characters and begins with the name of its extension. */
const MAX_NAME_LENGTH = 40

/** The reason why an extension cannot be used, in one line that names it. */
export class ExtensionError extends Error {
  constructor(extension: string, reason: string, options?: ErrorOptions) {
    super(`The extension ${extension} cannot be used: ${reason.replaceAll(/\s*\n\s*/g, ' ')}`, options)
    this.name = 'ExtensionError'
  }
}

/** The extensions below `root`, by name; throws `ExtensionError` for a folder that cannot be one. */
export function findExtensions(root: string = EXTENSIONS_DIR): ExtensionFolder[] {
  if (!existsSync(root)) return []
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => !entry.isFile() && !entry.name.startsWith('.') && entry.name !== 'node_modules')
    .map(({ name }) => getExtension(name, root))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** The extension of that name; throws `ExtensionError`. */
export function getExtension(name: string, root: string = EXTENSIONS_DIR): ExtensionFolder {
  if (!NAME.test(name) || name.length > MAX_NAME_LENGTH)
    throw new ExtensionError(
      name,
      `rename its folder to at most ${MAX_NAME_LENGTH} lower-case letters, digits and single dashes`,
    )
  const dir = join(root, name)
  if (!existsSync(join(dir, ENTRY)))
    throw new ExtensionError(name, `extensions/${name}/${ENTRY} does not exist`)
  return { name, dir }
}

/** Returns the prefix of the names of its settings: `NOTES_` for the extension `notes`. */
export const settingPrefix = (name: string): string => `${name.toUpperCase().replaceAll('-', '_')}_`

/** Returns the prefix of the names of its mail templates. */
export const mailPrefix = (name: string): string => `${name}-`
