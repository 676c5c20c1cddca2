import { hash, randomUUID } from 'node:crypto'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { rootReason } from '@latchkey/shared/errors/root-reason.ts'
import { z } from 'zod'
import type { RequestAudit } from '../../audit/request-audit.ts'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { cookieName, formatCookie, readCookies } from '../../http/cookies.ts'
import { type IdentityProvider, LoginRefused } from './identity-provider.ts'
import type { PendingLogins } from './pending-logins.ts'
import { addToAddress } from './return-address.ts'

/** The time that a person may take at the provider. */
const FLOW_SECONDS = 600
/** The logins that one browser can have begun. More of their cookies would fill the headers of a request. */
const MAX_FLOWS = 3
/** The subjects of OpenID Connect (Core §2), without white space: MySQL compares without regard to that at the end. */
const SUBJECT = /^[\x21-\x7e]{1,255}$/
const COOKIE = 'latchkey_login_'

/** What the cookie of a login says, sealed: its browser brings it to the callback. */
const Flow = z.object({
  id: z.guid(),
  provider: z.string(),
  secrets: z.object({ state: z.string(), nonce: z.string(), codeVerifier: z.string() }),
  returnTo: z.string(),
  state: z.string().optional(),
  codeChallenge: z.string(),
  expiresAt: z.number(),
})
type Flow = z.output<typeof Flow>

/** The page that begins a login. */
export interface LoginStart {
  /** The address to which the browser comes back. */
  returnTo: string
  /** What the page wants to get back with it. */
  state?: string | undefined
  /** SHA-256 of the verifier by which the page exchanges the code (RFC 7636). */
  codeChallenge: string
}

/** The answer to a browser: where to go, and the cookies to set. */
export interface Redirect {
  location: string
  cookies: string[]
}

/** Why a login came back without a code. A page shows what to do about it. */
export type LoginError = 'access_denied' | 'provider_unavailable' | 'provider_failed' | 'login_expired'

type ProviderLoginCore = Pick<Core, 'revocations' | 'localNow' | 'logger'>

export interface ProviderLoginOptions {
  providers: ReadonlyMap<string, IdentityProvider>
  logins: PendingLogins
  /** The page that shows the error of a login whose page is not known; undefined where there is none. */
  errorPage: string | undefined
}

/** Creates the two requests of a browser that logs in with a provider: to its start, and to its callback. */
export function createProviderLogin(
  { revocations, localNow, logger }: ProviderLoginCore,
  { http: { publicUrl } }: Pick<Config, 'http'>,
  { providers, logins, errorPage }: ProviderLoginOptions,
) {
  const isSecure = publicUrl.startsWith('https:')
  const prefix = cookieName(COOKIE, isSecure)
  const { sealer } = logins

  const cookieOf = (state: string): string => prefix + hash('sha256', state).slice(0, 8)
  const ending = (name: string): string => formatCookie({ name, value: '', maxAgeSeconds: 0, isSecure })

  const providerOf = (name: string): IdentityProvider => {
    const provider = providers.get(name)
    if (!provider) throw new AppError('provider_not_found', 'There is no such provider')
    return provider
  }
  const callbackOf = (name: string): string => `${publicUrl.replace(/\/$/, '')}/login/with/${name}/callback`

  function failed(
    { provider, returnTo, state }: Pick<Flow, 'provider' | 'returnTo' | 'state'>,
    error: unknown,
    otherwise: LoginError,
  ) {
    const code = error instanceof LoginRefused ? 'access_denied' : otherwise
    // It is the operator's or the provider's fault, and contains nothing of a person: no claim and no token.
    if (code !== 'access_denied')
      logger.warn({ provider, reason: rootReason(error) }, 'a login with an identity provider failed')
    return addToAddress(returnTo, { error: code, state })
  }

  /** Finds the login of a callback. Each is found once. */
  async function takeFlow(
    provider: string,
    url: URL,
    headers: { cookie?: string | undefined },
  ): Promise<Flow | undefined> {
    const sealed = readCookies(headers).get(cookieOf(url.searchParams.get('state') ?? ''))
    const text = sealed === undefined ? '{}' : await sealer.open(sealed).catch(() => '{}')
    const { data: flow } = Flow.safeParse(JSON.parse(text))
    const now = localNow()
    if (!flow || flow.provider !== provider || flow.expiresAt <= now) return undefined
    const isFirst = await revocations.useOnce(flow.id, new Date(now), new Date(flow.expiresAt))
    return isFirst ? flow : undefined
  }

  return {
    /** Sends a browser to a provider; throws `provider_not_found`. */
    async begin(
      provider: string,
      start: LoginStart,
      headers: { cookie?: string | undefined },
    ): Promise<Redirect> {
      const known = providerOf(provider)
      let begun: Awaited<ReturnType<IdentityProvider['begin']>>
      try {
        begun = await known.begin(callbackOf(provider))
      } catch (error) {
        return { location: failed({ provider, ...start }, error, 'provider_unavailable'), cookies: [] }
      }
      const { url, secrets } = begun
      const flow: Flow = {
        id: randomUUID(),
        provider,
        secrets,
        ...start,
        expiresAt: localNow() + FLOW_SECONDS * 1000,
      }
      const value = await sealer.seal(JSON.stringify(flow))
      const others = [...readCookies(headers).keys()].filter((name) => name.startsWith(prefix))
      const cookie = formatCookie({
        name: cookieOf(secrets.state),
        value,
        maxAgeSeconds: FLOW_SECONDS,
        isSecure,
      })
      return {
        location: url.href,
        cookies: [...(others.length < MAX_FLOWS ? [] : others.map(ending)), cookie],
      }
    },

    /** Sends a browser that comes from a provider to the page of its login, with a code or an error; throws `provider_not_found`. */
    async complete(
      provider: string,
      query: string,
      headers: { cookie?: string | undefined },
      audit: Pick<RequestAudit, 'report'>,
    ): Promise<Redirect> {
      const known = providerOf(provider)
      const url = new URL(`${callbackOf(provider)}?${query}`)
      const flow = await takeFlow(provider, url, headers)
      if (!flow) {
        audit.report({ name: 'identity.refused', reason: 'login_expired' })
        if (errorPage === undefined)
          throw new AppError(
            'exchange_refused',
            'The login has expired, was completed before, or began in another browser',
          )
        return { location: addToAddress(errorPage, { error: 'login_expired' }), cookies: [] }
      }
      const { returnTo, state, codeChallenge, secrets } = flow
      const cookies = [ending(cookieOf(secrets.state))]
      try {
        const identity = await known.complete(url, secrets)
        if (!SUBJECT.test(identity.subject)) throw new Error('The subject of the person is not valid')
        const code = await logins.issueCode({ provider, identity, codeChallenge })
        return { location: addToAddress(returnTo, { code, state }), cookies }
      } catch (error) {
        if (error instanceof AppError) throw error
        const location = failed(flow, error, 'provider_failed')
        audit.report({
          name: 'identity.refused',
          reason: new URL(location).searchParams.get('error') ?? undefined,
        })
        return { location, cookies }
      }
    },
  }
}
