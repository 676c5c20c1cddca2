import { once } from 'node:events'
import { createServer } from 'node:http'
import { findFreePort } from '@latchkey/test-support/free-port.ts'
import { exportJWK, generateKeyPair } from 'jose'
import Provider, { type Configuration } from 'oidc-provider'

/** A person as the issuer knows them. */
export interface Person {
  sub: string
  email?: string
  email_verified?: boolean
  name?: string
}

export interface OpenidIssuer extends AsyncDisposable {
  issuer: string
  /** The person who logs in next; undefined for one who cancels. */
  person: Person | undefined
  /** The `acr` and `amr` of the next login. */
  methods: { acr?: string; amr?: string[] }
}

export interface OpenidIssuerOptions {
  /** The address of Latchkey, to which the issuer sends browsers back. */
  callbacks: readonly string[]
  port?: number
  /** True for forms that a person fills in. Otherwise each login is that of `person`. */
  hasForms?: boolean
}

/** The clients of the issuer: each authenticates in another way. */
export const CLIENTS = {
  basic: { client_secret: 'basic-secret-of-the-tests', token_endpoint_auth_method: 'client_secret_basic' },
  post: { client_secret: 'post-secret-of-the-tests', token_endpoint_auth_method: 'client_secret_post' },
  public: { token_endpoint_auth_method: 'none' },
} as const

/** Starts oidc-provider, an issuer that nobody here wrote. */
export async function startOpenidIssuer({
  callbacks,
  port,
  hasForms = false,
}: OpenidIssuerOptions): Promise<OpenidIssuer> {
  const chosen = port ?? (await findFreePort())
  const issuer = `http://localhost:${chosen}`
  const people = new Map<string, Person>()
  const state: Pick<OpenidIssuer, 'person' | 'methods'> = { person: undefined, methods: {} }
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const hour = 3_600
  const configuration: Configuration = {
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig' }] },
    ttl: {
      Interaction: hour,
      Session: hour,
      Grant: hour,
      AccessToken: hour,
      IdToken: hour,
      AuthorizationCode: 60,
    },
    clients: Object.entries(CLIENTS).map(([client_id, client]) => ({
      client_id,
      ...client,
      redirect_uris: [...callbacks],
      grant_types: ['authorization_code'],
      response_types: ['code'],
    })),
    claims: { openid: ['sub', 'acr', 'amr'], email: ['email', 'email_verified'], profile: ['name'] },
    cookies: { keys: ['of the tests'] },
    features: { devInteractions: { enabled: hasForms } },
    pkce: { required: () => true },
    findAccount: (_context, sub) => {
      // With forms, whoever comes is known: the login is the address.
      const known = people.get(sub) ?? {
        sub,
        email: sub.includes('@') ? sub : `${sub}@example.com`,
        email_verified: true,
        name: sub,
      }
      return { accountId: sub, claims: () => ({ ...known }) }
    },
    ...(hasForms ? {} : { interactions: { url: (_context, { uid }) => `/interaction/${uid}` } }),
  }
  const provider = new Provider(issuer, configuration)
  const listener = provider.callback()
  const server = createServer((request, response) => {
    if (hasForms || !request.url?.startsWith('/interaction/')) return void listener(request, response)
    finishInteraction().catch((error: unknown) => response.writeHead(500).end(String(error)))

    async function finishInteraction() {
      const { person, methods } = state
      if (!person) {
        const cancelled = { error: 'access_denied', error_description: 'The person <b>cancelled</b>' }
        return provider.interactionFinished(request, response, cancelled, { mergeWithLastSubmission: false })
      }
      people.set(person.sub, person)
      const { prompt, params, session } = await provider.interactionDetails(request, response)
      if (prompt.name === 'login')
        return provider.interactionFinished(request, response, {
          login: { accountId: person.sub, ...methods },
        })
      const grant = new provider.Grant({
        accountId: session?.accountId ?? '',
        clientId: String(params.client_id),
      })
      grant.addOIDCScope(String(params.scope))
      return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } })
    }
  }).listen(chosen, 'localhost')
  await once(server, 'listening')
  return Object.assign(state, {
    issuer,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}
