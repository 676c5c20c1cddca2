import helmet from '@fastify/helmet'
import { findFiles } from '@latchkey/account-pages/find-files.ts'
import type { Settings } from '@latchkey/account-pages/types/settings.d.ts'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.ts'
import { HIDDEN, serveFiles } from './serve-files.ts'

/** The pages load scripts and styles of their own origin, and talk to no other one. */
const POLICY = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'"],
  'img-src': ["'self'"],
  'connect-src': ["'self'"],
  'base-uri': ["'none'"],
  // Scripts send the forms. Without them, a form would put its password into an address.
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
  'require-trusted-types-for': ["'script'"],
  'trusted-types': ["'none'"],
}

/** Adds `/account/`, where ACCOUNT_PAGES is `on`: the pages on which users log in and manage their account. */
export async function addAccountPages(app: FastifyInstance, config: Config): Promise<void> {
  if (config.accountPages.mode !== 'on') return
  await app.register(async (pages) => {
    await pages.register(helmet, { contentSecurityPolicy: { useDefaults: false, directives: POLICY } })
    // The links of the pages are relative, so that they work below the path prefix of a proxy.
    pages.get('/account', HIDDEN, (_request, reply) => reply.redirect('account/'))
    pages.get('/account/settings.json', { schema: { hide: true } }, async () => describeSettings(app, config))
    const files = [...(await findFiles())].map(
      ([name, path]) => [`/account/${name === 'index.html' ? '' : name}`, path] as const,
    )
    await serveFiles(pages, new Map(files))
  })
}

/** The options of this installation that the pages read: they offer nothing that has no route here, and refresh in its window. */
function describeSettings(app: FastifyInstance, config: Config): Settings {
  const { accountPages, login, passkeys, profile, reset, tokens } = config
  const { product, support, colour } = accountPages
  const has = (method: 'GET' | 'POST', url: string) => app.hasRoute({ method, url })
  return {
    product,
    support,
    colour,
    login_field: login.field,
    refresh_window_seconds: tokens.refreshWindowSeconds,
    code_attempts: reset.attempts,
    confirms_email: profile.emailChange === 'confirmed',
    mail_login: has('POST', '/login/code'),
    sign_up: has('POST', '/signup'),
    deletion: has('POST', '/profile/delete'),
    apps: has('POST', '/profile/factors/totp'),
    passkey_origins: has('POST', '/login/passkey') ? passkeys.origins : [],
  }
}
