import { existsSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import {
  EMAILS,
  ExtensionError,
  findExtensions,
  mailPrefix,
} from '@latchkey/shared/extensions/find-extensions.ts'

const TEMPLATES_DIR = join(import.meta.dirname, '..', '..', '..', '..', 'templates', 'emails')

/**
 * The folders of mail templates: `templates/emails/`, then `emails/` of each extension. Throws `ExtensionError` for a file
 * of an extension that does not begin with its name, or that exists elsewhere too.
 */
export function findEmailFolders(own: string = TEMPLATES_DIR, extensions = findExtensions()): string[] {
  const owners = new Map(emailFilesIn(own).map((file) => [file, 'Latchkey']))
  const folders = extensions.filter(({ dir }) => existsSync(join(dir, EMAILS)))
  for (const { name, dir } of folders) {
    for (const file of emailFilesIn(join(dir, EMAILS))) {
      const owner = owners.get(file)
      if (owner)
        throw new ExtensionError(name, `${EMAILS}/${file} is a mail template of ${owner} too; rename it`)
      if (!basename(file).startsWith(mailPrefix(name)))
        throw new ExtensionError(name, `rename ${EMAILS}/${file}, so that it begins with ${mailPrefix(name)}`)
      owners.set(file, `the extension ${name}`)
    }
  }
  return [own, ...folders.map(({ dir }) => join(dir, EMAILS))]
}

const emailFilesIn = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(subject|html|text)$/.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name).slice(dir.length + 1))
