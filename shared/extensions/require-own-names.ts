import { MAIL_TEMPLATES, type MailTemplates } from '../mail/outbox/mail-templates.ts'
import { SETTINGS } from '../settings/definitions.ts'
import type { SettingDeclarations } from './extension.ts'
import { ExtensionError, mailPrefix, settingPrefix } from './find-extensions.ts'

interface Named {
  name: string
  settings: SettingDeclarations
  mails: MailTemplates
}

/** The names of one kind that an extension declares. */
interface Declared {
  noun: string
  names: readonly string[]
  prefix: string
  pattern: RegExp
  rule: string
  /** The names of Latchkey itself. */
  taken: readonly string[]
}

const declaredBy = ({ name, settings, mails }: Named): Declared[] => [
  {
    noun: 'setting',
    names: Object.keys(settings),
    prefix: settingPrefix(name),
    pattern: /^[A-Z0-9_]+$/,
    rule: 'upper-case letters, digits and underscores',
    taken: Object.keys(SETTINGS),
  },
  {
    noun: 'mail template',
    names: Object.keys(mails),
    prefix: mailPrefix(name),
    pattern: /^[a-z0-9-]{1,50}$/,
    rule: 'at most 50 lower-case letters, digits and dashes',
    taken: Object.keys(MAIL_TEMPLATES),
  },
]

/**
 * Throws `ExtensionError` for a setting or a mail template that does not begin with the name of its extension, or that
 * Latchkey or another extension has too. A prefix with which any name of Latchkey begins is refused, because a later
 * release may add names with it.
 */
export function requireOwnNames(extensions: readonly Named[]): void {
  const owners = new Map<string, string>()
  for (const extension of extensions) {
    for (const declared of declaredBy(extension)) {
      for (const name of declared.names) {
        const fault = findFault(name, declared, owners.get(name))
        if (fault) throw new ExtensionError(extension.name, fault)
        owners.set(name, extension.name)
      }
    }
  }
}

function findFault(
  name: string,
  { noun, prefix, pattern, rule, taken }: Declared,
  owner: string | undefined,
): string | undefined {
  const ours = taken.find((each) => each.startsWith(prefix))
  if (ours) return `${ours} is a ${noun} of Latchkey, so ${prefix} cannot be its prefix; rename its folder`
  if (!name.startsWith(prefix)) return `its ${noun} ${name} must begin with ${prefix}`
  if (!pattern.test(name)) return `its ${noun} ${name} must consist of ${rule}`
  return owner && `its ${noun} ${name} is also one of the extension ${owner}; rename one`
}
