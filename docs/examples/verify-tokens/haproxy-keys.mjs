// Writes the public keys of Latchkey into a folder, for haproxy.cfg.
import { createPublicKey } from 'node:crypto'
import { writeFile } from 'node:fs/promises'

const response = await fetch(`${process.env.API_SERVER}/.well-known/jwks.json`)
const set = /** @type {{ keys: import('node:crypto').JsonWebKey[] }} */ (await response.json())
const keys = set.keys.filter(({ alg }) => alg === 'ES256')
// There are at most three. The configuration names as many files, of which some have the same key.
for (const index of [0, 1, 2]) {
  const jwk = keys[index] ?? keys[0]
  if (!jwk) throw new Error('Latchkey has no key of ES256')
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  await writeFile(`${process.argv[2]}/${index}.pem`, key.export({ type: 'spki', format: 'pem' }))
}
