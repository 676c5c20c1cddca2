import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { MailTemplates } from '../mail-outbox/mail-templates.ts'
import { ExtensionError } from './extension-error.ts'
import { EMAILS, type ExtensionFolder } from './find-extensions.ts'

/** Throws `ExtensionError` for a mail without its English template, which other languages fall back to. */
export function refuseMissingTemplates(
  extensions: readonly (ExtensionFolder & { mails: MailTemplates })[],
): void {
  for (const { name, dir, mails } of extensions) {
    const files = Object.keys(mails).flatMap((mail) =>
      ['subject', 'html', 'text'].map((part) => join(EMAILS, 'en', `${mail}.${part}`)),
    )
    const missing = files.filter((file) => !existsSync(join(dir, file)))
    if (missing.length > 0) throw new ExtensionError(name, `its mail templates lack ${missing.join(', ')}`)
  }
}
