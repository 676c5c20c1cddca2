import { MAIL_TEMPLATES, type MailTemplates } from '../mail-outbox/mail-templates.ts'
import { SETTINGS } from '../settings/definitions.ts'
import type { SettingDeclarations } from './extension.ts'
import { ExtensionError, mailPrefix, settingPrefix } from './find-extensions.ts'

interface Named {
  name: string
  settings: SettingDeclarations
  mails: MailTemplates
}

/** A kind of name that extensions declare. */
interface Kind {
  noun: string
  pattern: RegExp
  rule: string
  prefixOf: (extension: string) => string
  /** Latchkey's own. */
  taken: readonly string[]
  declaredBy: (extension: Named) => readonly string[]
}

const KINDS: readonly Kind[] = [
  {
    noun: 'setting',
    pattern: /^[A-Z0-9_]+$/,
    rule: 'upper-case letters, digits and underscores',
    prefixOf: settingPrefix,
    taken: Object.keys(SETTINGS),
    declaredBy: ({ settings }) => Object.keys(settings),
  },
  {
    noun: 'mail template',
    pattern: /^[a-z0-9-]{1,50}$/,
    rule: 'at most 50 lower-case letters, digits and dashes',
    prefixOf: mailPrefix,
    taken: Object.keys(MAIL_TEMPLATES),
    declaredBy: ({ mails }) => Object.keys(mails),
  },
]

/**
 * Throws `ExtensionError` for a setting or a mail template that does not begin with the name of its extension, or that
 * Latchkey or another extension has too. A later release of Latchkey uses no prefix of an extension by accident, since
 * one that begins like a name of today is refused as a whole.
 */
export function refuseForeignNames(extensions: readonly Named[]): void {
  for (const kind of KINDS) {
    const owners = new Map<string, string>()
    for (const extension of extensions) {
      for (const name of kind.declaredBy(extension)) {
        const fault = findFault(name, extension.name, kind) ?? findOther(name, owners, kind)
        if (fault) throw new ExtensionError(extension.name, fault)
        owners.set(name, extension.name)
      }
    }
  }
}

function findFault(name: string, extension: string, kind: Kind): string | undefined {
  const { noun, pattern, rule, prefixOf, taken } = kind
  const prefix = prefixOf(extension)
  const ours = taken.find((each) => each.startsWith(prefix))
  if (ours) return `${ours} is a ${noun} of Latchkey, so ${prefix} cannot be its prefix; rename its folder`
  if (!name.startsWith(prefix)) return `its ${noun} ${name} must begin with ${prefix}`
  if (!pattern.test(name)) return `its ${noun} ${name} must consist of ${rule}`
  return undefined
}

function findOther(name: string, owners: ReadonlyMap<string, string>, { noun }: Kind): string | undefined {
  const other = owners.get(name)
  return other && `its ${noun} ${name} is also one of the extension ${other}; rename one`
}
