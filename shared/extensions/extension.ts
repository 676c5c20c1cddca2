import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { z } from 'zod'
import type { Database } from '../database/database.ts'
import type { Mails } from '../mail/outbox/accept-mail.ts'
import type { MailTemplates } from '../mail/outbox/mail-templates.ts'
import type { Setting } from '../settings/setting.ts'
import type { Clock } from '../time/clock.ts'
import type { UserRepository } from '../users/user-repository.ts'

/** Settings by their names, which begin with the name of the extension in upper case: `NOTES_`. */
export type SettingDeclarations = Readonly<Record<string, Setting<unknown>>>

/** The values of declared settings. */
export type SettingValues<Declared extends SettingDeclarations> = {
  readonly [Name in keyof Declared]: z.output<Declared[Name]['schema']>
}

type None = Record<never, never>

/** The context that auth-api hands to the routes of an extension. */
export interface ExtensionContext<
  Settings extends SettingDeclarations = None,
  Templates extends MailTemplates = None,
> {
  db: Database
  users: Pick<UserRepository, 'findById' | 'findByLogin'>
  mails: Mails<Templates>
  settings: SettingValues<Settings>
  clock: Clock
}

/** The plugin that adds the routes of an extension. Its hooks and decorators reach these routes only. */
export type ExtensionRoutes<
  Settings extends SettingDeclarations = None,
  Templates extends MailTemplates = None,
> = FastifyPluginAsyncZod<ExtensionContext<Settings, Templates>>

/** The default export of `extensions/<name>/extension.ts`. */
export interface Extension<Settings extends SettingDeclarations, Templates extends MailTemplates> {
  /** The roles that its routes may require beside those of Latchkey. */
  roles?: readonly string[]
  settings?: Settings
  /**
   * The variables of its mails. Their names begin with the name of the extension, such as `notes-added`, whose files are
   * `emails/<language>/notes-added.{subject,html,text}`.
   */
  mails?: Templates
  /** Imports the module that exports `routes`. Only auth-api calls it. */
  routes?: () => Promise<{ routes: ExtensionRoutes<NoInfer<Settings>, NoInfer<Templates>> }>
}

/** Declares an extension; returns it as it is. */
export const defineExtension = <
  Settings extends SettingDeclarations = None,
  Templates extends MailTemplates = None,
>(
  extension: Extension<Settings, Templates>,
): Extension<Settings, Templates> => extension
