import { z } from 'zod'
import type { FeatureRoutes } from '../../http/feature-routes.ts'
import { PublishedKey } from '../../tokens/signing-keys.ts'

/** The time that a verifier may keep the keys. docs/how-to/rotate-a-secret.md waits for longer before a published key signs. */
const MAX_AGE_SECONDS = 300

const KeySet = z.object({ keys: z.array(PublishedKey) }).meta({
  id: 'KeySet',
  description: 'A JWK Set (RFC 7517).',
  examples: [
    {
      keys: [
        {
          kty: 'OKP',
          use: 'sig',
          alg: 'EdDSA',
          // This key is from RFC 8037, appendix A.
          kid: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
          crv: 'Ed25519',
          x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
        },
      ],
    },
  ],
})

/** Adds `GET /.well-known/jwks.json`, where there is a key to publish. */
export const keySetRoutes: FeatureRoutes = async (app, { core }) => {
  if (core.publishedKeys.length === 0) return
  app.get(
    '/.well-known/jwks.json',
    {
      schema: {
        operationId: 'getKeySet',
        summary: 'The public keys that verify tokens',
        description:
          'Only where there is a private key: with JWT_ALGORITHM=HS512 and no JWT_PRIVATE_KEY_NEXT or JWT_PRIVATE_KEY_PREVIOUS the answer is 404. The key that signs is first. Take the algorithm from the key, never from the token.',
        tags: ['token'],
        response: { 200: KeySet },
      },
    },
    async (_request, reply) => {
      // Here, and not by isCacheable: a refusal of this route is never stored.
      reply.header('cache-control', `public, max-age=${MAX_AGE_SECONDS}`)
      return { keys: [...core.publishedKeys] }
    },
  )
}
