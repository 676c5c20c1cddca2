import { parseProviderSettings } from '@latchkey/shared/settings/provider-settings.ts'
import { toNumericDate } from '@latchkey/shared/time/clock.ts'
import type { ClientAuth, Configuration, CustomFetch, IDToken, UserInfoResponse } from 'openid-client'
import {
  type Identity,
  type IdentityProviderFactory,
  LoginRefused,
  type LoginSecrets,
} from './identity-provider.ts'

/** The time for one answer of a provider. */
const TIMEOUT_SECONDS = 5
/** The largest answer that is read: key sets and tokens are a tenth of it. */
const MAX_RESPONSE_BYTES = 256 * 1024
/** The time for which the discovery document of a provider is remembered. */
const DISCOVERY_MS = 3_600_000
/** The difference of clocks that is accepted. */
const LEEWAY_SECONDS = 30

/** The errors of a provider that say that the person did not log in (RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6). */
const REFUSALS = [
  'access_denied',
  'login_required',
  'interaction_required',
  'consent_required',
  'account_selection_required',
]

/** The library is loaded by the first login with a provider. */
const loadClient = () => import('openid-client')

/** Builds a provider by its settings `OIDC_<NAME>_…`: any that OpenID Connect Discovery describes. */
export const openidProvider: IdentityProviderFactory = (name, environment) => {
  const settings = parseProviderSettings(name, environment)
  const { ISSUER, CLIENT_ID, LABEL, SCOPES } = settings
  const issuer = new URL(ISSUER)
  const secret = settings.CLIENT_SECRET ?? settings.CLIENT_SECRET_FILE
  let discovered: { at: number; configuration: Promise<Configuration> } | undefined

  async function discover(): Promise<Configuration> {
    const client = await loadClient()
    const { discovery, enableNonRepudiationChecks, allowInsecureRequests, customFetch, clockTolerance } =
      client
    return discovery(
      issuer,
      CLIENT_ID,
      { [clockTolerance]: LEEWAY_SECONDS },
      authenticationOf(client, secret),
      {
        timeout: TIMEOUT_SECONDS,
        [customFetch]: fetchBounded,
        execute: [
          enableNonRepudiationChecks,
          ...(issuer.protocol === 'http:' ? [allowInsecureRequests] : []),
        ],
      },
    )
  }

  /** Discovers the provider once an hour. A failure is not remembered. */
  function configure(): Promise<Configuration> {
    if (discovered && performance.now() - discovered.at < DISCOVERY_MS) return discovered.configuration
    const entry = { at: performance.now(), configuration: discover() }
    discovered = entry
    entry.configuration.catch(() => {
      if (discovered === entry) discovered = undefined
    })
    return entry.configuration
  }

  return {
    label: LABEL,

    async begin(redirectUri) {
      const {
        buildAuthorizationUrl,
        calculatePKCECodeChallenge,
        randomNonce,
        randomPKCECodeVerifier,
        randomState,
      } = await loadClient()
      const secrets = { state: randomState(), nonce: randomNonce(), codeVerifier: randomPKCECodeVerifier() }
      const url = buildAuthorizationUrl(await configure(), {
        redirect_uri: redirectUri,
        scope: SCOPES,
        state: secrets.state,
        nonce: secrets.nonce,
        code_challenge: await calculatePKCECodeChallenge(secrets.codeVerifier),
        code_challenge_method: 'S256',
      })
      return { url, secrets }
    },

    async complete(url, secrets) {
      const configuration = await configure()
      const { claims, userInfo } = await exchangeCode(configuration, url, secrets)
      return toIdentity(claims, userInfo, settings.SECOND_FACTOR)
    },
  }
}

type Client = Awaited<ReturnType<typeof loadClient>>

/** Returns how the client authenticates at the token endpoint: by HTTP Basic, which is the default of OpenID Connect, if it may. */
function authenticationOf(
  { None, ClientSecretBasic, ClientSecretPost }: Client,
  secret?: string,
): ClientAuth {
  if (secret === undefined) return None()
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)]
  return (server, ...request) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    return (methods.includes('client_secret_basic') ? basic : post)(server, ...request)
  }
}

/** Exchanges the code of a callback for the claims of its ID token. `openid-client` checks both as OpenID Connect says. */
async function exchangeCode(
  configuration: Configuration,
  url: URL,
  { state, nonce, codeVerifier }: LoginSecrets,
) {
  const { authorizationCodeGrant, fetchUserInfo, AuthorizationResponseError } = await loadClient()
  const tokens = await authorizationCodeGrant(configuration, url, {
    expectedState: state,
    expectedNonce: nonce,
    pkceCodeVerifier: codeVerifier,
    idTokenExpected: true,
  }).catch((error: unknown) => {
    const isRefusal = error instanceof AuthorizationResponseError && REFUSALS.includes(error.error)
    throw isRefusal ? new LoginRefused(error.error) : error
  })
  const claims = tokens.claims()
  if (!claims) throw new Error('The provider sent no ID token')
  // OpenID Connect says nothing about it: a token of the future would be valid longer than its provider says.
  if (claims.iat > toNumericDate(Date.now()) + LEEWAY_SECONDS)
    throw new Error('The ID token is of the future')
  const needsUserInfo =
    claims.email === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined
  const userInfo = needsUserInfo
    ? await fetchUserInfo(configuration, tokens.access_token, claims.sub)
    : undefined
  return { claims, userInfo }
}

function toIdentity(
  claims: IDToken,
  userInfo: UserInfoResponse | undefined,
  sufficient: readonly string[],
): Identity {
  const { sub: subject, amr, acr } = claims
  const { email, email_verified, name } = { ...userInfo, ...claims }
  return {
    subject,
    email: typeof email === 'string' ? email : undefined,
    isEmailVerified: email_verified === true,
    name: typeof name === 'string' ? name : undefined,
    hasSecondFactor: [amr, acr]
      .flat()
      .some((value) => typeof value === 'string' && sufficient.includes(value)),
  }
}

/** Fetches an answer of at most `MAX_RESPONSE_BYTES`. */
const fetchBounded: CustomFetch = async (url, options) => {
  const response = await fetch(url, options as RequestInit)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > MAX_RESPONSE_BYTES)
      throw new Error(`The answer of the provider is larger than ${MAX_RESPONSE_BYTES} bytes`)
    chunks.push(chunk)
  }
  const { status, statusText, headers } = response
  return new Response(chunks.length > 0 ? Buffer.concat(chunks) : null, { status, statusText, headers })
}
