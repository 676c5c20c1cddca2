import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import type { MailTemplates } from '../mail/outbox/mail-templates.ts'
import type { Setting } from '../settings/setting.ts'
import { MAX_LENGTH } from '../users/user.ts'
import { explainFailure } from './explain-failure.ts'
import type { ExtensionRoutes, SettingDeclarations } from './extension.ts'
import { EMAILS, ENTRY, ExtensionError, type ExtensionFolder, findExtensions } from './find-extensions.ts'
import { requireOwnNames } from './require-own-names.ts'

/** The routes of any extension. */
export type LoadedRoutes = ExtensionRoutes<SettingDeclarations, MailTemplates>

export interface LoadedExtension extends ExtensionFolder {
  roles: readonly string[]
  settings: SettingDeclarations
  mails: MailTemplates
  /** Loads the plugin with its routes; undefined where it has none. Throws `ExtensionError`. */
  loadRoutes(): Promise<LoadedRoutes | undefined>
}

const isFunction = (value: unknown): boolean => typeof value === 'function'
/** Not `instanceof`: an extension may have its own zod. */
const isSchema = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'safeParse' in value
const isSetting = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'schema' in value && isSchema(value.schema)

const PARTS = {
  roles: z
    .array(
      z.string().min(1).max(MAX_LENGTH.role),
      `must be an array of names of at most ${MAX_LENGTH.role} characters`,
    )
    .default([]),
  settings: z
    .record(z.string(), z.custom<Setting<unknown>>(isSetting, 'must be a setting, such as text({ … })'))
    .default({}),
  mails: z.record(z.string(), z.custom<MailTemplates[string]>(isSchema, 'must be a zod schema')).default({}),
  routes: z.custom<() => Promise<unknown>>(isFunction, 'must be a function that imports a module').optional(),
}
const Entry = z.strictObject(PARTS, {
  error: ({ code, keys }) =>
    code === 'unrecognized_keys'
      ? `${ENTRY} declares ${keys}; an extension has ${Object.keys(PARTS).join(', ')}`
      : `${ENTRY} must export defineExtension({ … }) as its default`,
})
const RoutesModule = z.object({
  routes: z.custom<LoadedRoutes>(isFunction, 'must be a function that is exported'),
})

/**
 * Loads `extension.ts` of each extension; throws `ExtensionError` for one that fails, or declares a name that is not its
 * own.
 */
export async function loadExtensions(
  folders: readonly ExtensionFolder[] = findExtensions(),
): Promise<LoadedExtension[]> {
  const extensions = await Promise.all(folders.map(loadExtension))
  requireOwnNames(extensions)
  requireTemplates(extensions)
  return extensions
}

function loadExtension(folder: ExtensionFolder): Promise<LoadedExtension> {
  return explainFailure(folder, async () => {
    const module: { default?: unknown } = await import(pathToFileURL(join(folder.dir, ENTRY)).href)
    const { routes, ...declared } = parse(folder, Entry, module.default)
    return {
      ...folder,
      ...declared,
      loadRoutes: async () =>
        routes && explainFailure(folder, async () => parse(folder, RoutesModule, await routes()).routes),
    }
  })
}

function parse<Value>({ name }: ExtensionFolder, schema: z.ZodType<Value>, given: unknown): Value {
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map(({ path, message }) => [path.join('.'), message].join(' ').trim())
  throw new ExtensionError(name, faults.join('; '))
}

/** Throws `ExtensionError` for a mail without its English template, which other languages fall back to. */
function requireTemplates(extensions: readonly (ExtensionFolder & { mails: MailTemplates })[]): void {
  for (const { name, dir, mails } of extensions) {
    const files = Object.keys(mails).flatMap((mail) =>
      ['subject', 'html', 'text'].map((part) => join(EMAILS, 'en', `${mail}.${part}`)),
    )
    const missing = files.filter((file) => !existsSync(join(dir, file)))
    if (missing.length > 0) throw new ExtensionError(name, `its mail templates lack ${missing.join(', ')}`)
  }
}
