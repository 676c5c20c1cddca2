import { hash, randomBytes } from 'node:crypto'
import type { Database } from '@latchkey/shared/database/database.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { signTokens } from './load.ts'
import { PASSWORD, type Target } from './target.ts'

/** Stores a new user with the password `PASSWORD`; resolves with its e-mail and the Authorization header of a token. */
export async function storeUser(db: Database, { jwtSecret, issuer }: Target) {
  const username = `bench-${randomBytes(6).toString('hex')}`
  const email = `${username}@example.com`
  const passwordHash = hash('sha1', PASSWORD)
  const userid = await createUserRepository(db).insert({ username, email, passwordHash })
  const [authorization] = signTokens({ secret: jwtSecret, issuer, userids: [userid], count: 1 })
  return { email, authorization }
}
