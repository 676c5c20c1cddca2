import { createIdentityRepository } from '@latchkey/shared/users/identity-repository.ts'
import { hasPassword } from '@latchkey/shared/users/user.ts'
import type { FastifyReply } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { createOutcomeCounter } from '../../http/count-outcome.ts'
import { ADMISSION_PROBLEMS } from '../../tokens/require-admitted.ts'
import { LoginResponse, toRefreshForm } from '../../tokens/token-response.ts'
import type { IdentityProvider } from './identity-provider.ts'
import {
  AddressConfirmation,
  Completion,
  Exchange,
  Identities,
  IdentityId,
  NewIdentity,
  ProviderName,
  Providers,
  startQuery,
} from './identity-schemas.ts'
import { createIdentityLogin } from './log-in-with-identity.ts'
import { createManageIdentities, type ShownIdentity } from './manage-identities.ts'
import { createPendingLogins } from './pending-logins.ts'
import { createProviderLogin, type Redirect } from './provider-login.ts'

export interface IdentityProviderRoutesOptions {
  core: Core
  config: Config
  /** The providers, by their names. */
  providers: ReadonlyMap<string, IdentityProvider>
}

const LOGIN_PROBLEMS = [
  'exchange_refused',
  'login_incomplete',
  'identity_refused',
  'identity_unknown',
  'second_factor_required',
  ...ADMISSION_PROBLEMS,
] as const

/** Adds the login with an identity provider, and the list of the own identities, where OIDC_PROVIDERS names some. */
export const identityProviderRoutes: FastifyPluginAsyncZod<IdentityProviderRoutesOptions> = async (
  app,
  { core, config, providers },
) => {
  if (providers.size === 0) return
  const { clientOf, loggedInClientOf } = core
  const { publicUrl, corsOrigins } = config.http
  const pages = config.accountPages.mode === 'on' ? `${publicUrl.replace(/\/$/, '')}/account/` : undefined
  const logins = createPendingLogins(core, config)
  const providerLogin = createProviderLogin(core, config, { providers, logins, errorPage: pages })
  const identityLogin = createIdentityLogin(core, config, { providers, logins })
  const identities = createManageIdentities(core, { providers, logins })
  const count = createOutcomeCounter(core.registry, ['exchange', 'complete'], {
    name: 'latchkey_identity_logins_total',
    help: 'Logins with an identity provider by step and outcome',
    label: 'step',
  })

  app.get(
    '/login/with',
    {
      schema: {
        operationId: 'listProviders',
        summary: 'The identity providers with which users log in',
        description: 'In the order of OIDC_PROVIDERS.',
        tags: TAGS,
        response: { 200: Providers },
      },
    },
    async () => ({ providers: [...providers].map(([name, { label }]) => ({ name, label })) }),
  )

  app.get(
    '/login/with/:provider',
    {
      problems: ['provider_not_found'],
      schema: {
        operationId: 'beginProviderLogin',
        summary: 'Send the browser to an identity provider',
        description:
          'An address for the browser, not for a script. It comes back to `return_to` with `code` and `state`, or with `error` and `state`: `access_denied` after a cancel, `provider_unavailable`, `provider_failed`, or `login_expired`. A cookie binds the start to the callback, for ten minutes.',
        tags: TAGS,
        params: ProviderName,
        querystring: startQuery([new URL(publicUrl).origin, ...corsOrigins], pages),
        response: { 302: z.undefined().describe('To the provider, or back with an error.') },
      },
    },
    async (request, reply) => {
      const { return_to: returnTo, state, code_challenge: codeChallenge } = request.query
      const start = { returnTo, state, codeChallenge }
      return redirect(reply, await providerLogin.begin(request.params.provider, start, request.headers))
    },
  )

  app.get(
    '/login/with/:provider/callback',
    {
      problems: ['provider_not_found', 'exchange_refused'],
      schema: {
        operationId: 'completeProviderLogin',
        summary: 'The address to which the provider sends the browser back',
        description: 'Register it at the provider. It sends the browser to `return_to` of its start.',
        tags: TAGS,
        params: ProviderName,
        response: { 302: z.undefined().describe('To the page that began the login.') },
      },
    },
    async (request, reply) => {
      const [, query = ''] = request.url.split('?', 2)
      const { headers, params } = request
      return redirect(
        reply,
        await providerLogin.complete(params.provider, query, headers, core.auditOf(request)),
      )
    },
  )

  app.post(
    '/login/exchange',
    {
      problems: LOGIN_PROBLEMS,
      schema: {
        operationId: 'exchangeLoginCode',
        summary: 'Exchange the code of a login with a provider for a token',
        description:
          'The code is for one call, sixty seconds, and the page with its verifier. 409 `login-incomplete` has a `ticket` to go on with, and `reason`: `account_exists`, `address_unconfirmed` or `username_missing`.',
        tags: TAGS,
        body: Exchange,
        response: { 200: LoginResponse },
      },
    },
    async (request, reply) => {
      const { code, code_verifier: verifier, remember } = request.body
      const login = { code, verifier, remember: toRefreshForm(remember) }
      return core.answerLogin(
        reply,
        await count('exchange', identityLogin.exchange(login, clientOf(request))),
      )
    },
  )

  app.post(
    '/login/exchange/code',
    {
      problems: ['exchange_refused'],
      schema: {
        operationId: 'mailExchangeCode',
        summary: 'Mail a code that confirms the address of a login',
        description:
          'For `address_unconfirmed`, and for `account_exists` where the owner cannot log in. Whoever confirms the address of an account by a code alone gets it as new: its password, its other identities and its sessions end.',
        tags: TAGS,
        body: AddressConfirmation,
        response: {
          202: z.undefined().describe('The mail is accepted, whether the address has an account or not.'),
        },
      },
    },
    async (request, reply) => {
      await identityLogin.mailCode(request.body, clientOf(request))
      reply.code(202)
    },
  )

  app.post(
    '/login/exchange/complete',
    {
      problems: [...LOGIN_PROBLEMS, 'username_taken'],
      schema: {
        operationId: 'completeLogin',
        summary: 'Complete a login with a provider by what was missing',
        description:
          'RESET_ATTEMPTS codes may be tried. Where the account has a second factor, 403 `second-factor-required` follows the code; add the identity with the ticket after that login.',
        tags: TAGS,
        body: Completion,
        response: { 200: LoginResponse },
      },
    },
    async (request, reply) => {
      const { remember, ...given } = request.body
      const completion = { ...given, remember: toRefreshForm(remember) }
      return core.answerLogin(
        reply,
        await count('complete', identityLogin.complete(completion, clientOf(request))),
      )
    },
  )

  app.get(
    '/profile/identities',
    {
      auth: 'authenticated',
      schema: {
        operationId: 'listIdentities',
        summary: "The caller's accounts at identity providers",
        description: 'Times are in UTC.',
        tags: TAGS,
        response: { 200: Identities },
      },
    },
    async (request) => {
      const [found, user] = await Promise.all([
        createIdentityRepository(core.db).list(request.jwt.sub),
        core.getTokenUser(core.db, request.jwt),
      ])
      const shown = found.map(({ id, provider, email = null, createdAt, lastUsedAt }) => ({
        id,
        provider,
        label: identities.labelOf(provider),
        email,
        created_at: createdAt.toISOString(),
        last_used_at: lastUsedAt?.toISOString() ?? null,
      }))
      return { identities: shown, has_password: hasPassword(user) }
    },
  )

  app.post(
    '/profile/identities',
    {
      auth: 'authenticated',
      problems: ['insufficient_user_authentication', 'exchange_refused', 'identity_taken'],
      schema: {
        operationId: 'addIdentity',
        summary: 'Add an account at an identity provider',
        description:
          'By the code of a login with the provider, or by the ticket of `login-incomplete`. The user must have logged in, or used a second factor where there is one, within the last five minutes.',
        tags: TAGS,
        body: NewIdentity,
        response: { 204: z.undefined().describe('The user can log in by it.') },
      },
    },
    async (request, reply) => {
      const { code = '', code_verifier: codeVerifier = '', ticket } = request.body
      const shown: ShownIdentity = ticket === undefined ? { code, codeVerifier } : { ticket }
      await identities.add(shown, loggedInClientOf(request))
      reply.code(204)
    },
  )

  app.delete(
    '/profile/identities/:id',
    {
      auth: 'authenticated',
      problems: ['insufficient_user_authentication', 'identity_not_found', 'last_way_in'],
      schema: {
        operationId: 'removeIdentity',
        summary: 'Remove an account at an identity provider',
        description:
          'Ends every other session of the user. The last way to log in stays. The user must have logged in, or used a second factor where there is one, within the last five minutes.',
        tags: TAGS,
        params: IdentityId,
        response: { 204: z.undefined().describe('The identity is removed.') },
      },
    },
    async (request, reply) => {
      await identities.remove(request.params.id.toLowerCase(), loggedInClientOf(request))
      reply.code(204)
    },
  )
}

const TAGS = ['identity providers']

/** The address of the next page contains a code: no page may pass it on. */
const redirect = (reply: FastifyReply, { location, cookies }: Redirect): FastifyReply =>
  reply.header('referrer-policy', 'no-referrer').header('set-cookie', cookies).redirect(location)
