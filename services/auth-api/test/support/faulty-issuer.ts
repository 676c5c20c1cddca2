import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { findFreePort } from '@latchkey/test-support/free-port.ts'
import { exportJWK, type GenerateKeyPairResult, generateKeyPair, type JWTPayload, SignJWT } from 'jose'

export const CLIENT_ID = 'latchkey'
export const CLIENT_SECRET = 'a client secret of the tests that is long enough for HS256'

/** What an issuer does, each of it as it should unless a test replaces it. */
export interface IssuerBehaviour {
  /** Changes the members of the discovery document. */
  metadata?: object
  /** Changes the claims of an ID token; a claim that is undefined is left out. */
  claims?: object
  /** Signs the claims in another way. */
  sign?: (claims: JWTPayload) => Promise<string>
  /** The answer of the token endpoint, in place of tokens. */
  tokens?: object
  userInfo?: object
  /** The path whose answer is right, and has 300 KiB of white space more. */
  padded?: string
  /** Answers a path by itself. */
  answers?: Readonly<Record<string, (response: ServerResponse) => unknown>>
}

export interface FaultyIssuer extends AsyncDisposable {
  issuer: string
  behaviour: IssuerBehaviour
  /** The nonce of the login, which the address of the issuer had. */
  nonce: string
  privateKey: GenerateKeyPairResult['privateKey']
}

const PADDING = ' '.repeat(300 * 1024)

export const now = () => Math.floor(Date.now() / 1000)

/** Starts an issuer with one key that answers every code, and whose faults a test chooses. */
export async function startFaultyIssuer(): Promise<FaultyIssuer> {
  const port = await findFreePort()
  const issuer = `http://localhost:${port}`
  const { privateKey, publicKey } = await generateKeyPair('RS256')
  const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }
  const state: Pick<FaultyIssuer, 'behaviour' | 'nonce'> = { behaviour: {}, nonce: '' }

  async function answer(path: string): Promise<object> {
    const { metadata, claims, sign, tokens, userInfo } = state.behaviour
    switch (path) {
      case '/.well-known/openid-configuration':
        return {
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/jwks`,
          userinfo_endpoint: `${issuer}/userinfo`,
          id_token_signing_alg_values_supported: ['RS256'],
          ...metadata,
        }
      case '/jwks':
        return { keys: [jwk] }
      case '/token': {
        const { nonce } = state
        const good = { iss: issuer, aud: CLIENT_ID, sub: 'ada', nonce, iat: now(), exp: now() + 60 }
        const given = JSON.parse(
          JSON.stringify({ ...good, email: 'ada@faulty.example', email_verified: true, ...claims }),
        )
        const signRight = (payload: JWTPayload) =>
          new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(privateKey)
        return (
          tokens ?? {
            access_token: 'access',
            token_type: 'Bearer',
            id_token: await (sign ?? signRight)(given),
          }
        )
      }
      default:
        return { sub: 'ada', ...userInfo }
    }
  }

  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '', issuer).pathname
    const own = state.behaviour.answers?.[path]
    if (own) return void own(response)
    answer(path).then(
      (body) =>
        response
          .writeHead('error' in body ? 400 : 200, { 'content-type': 'application/json' })
          .end(JSON.stringify(body) + (path === state.behaviour.padded ? PADDING : '')),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  }).listen(port, 'localhost')
  await once(server, 'listening')
  return Object.assign(state, {
    issuer,
    privateKey,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}
