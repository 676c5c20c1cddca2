import { hash } from 'node:crypto'
import { fold } from '@latchkey/shared/users/user.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { createTestDatabase } from '@latchkey/test-support/test-database.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'

/** Letters that a collation may take for one another: cases, accents, ligatures, look-alikes, ignorable marks. */
const LETTERS = [
  ...'aAáÁàâbBçÇeEéÉnNñÑoOöÖøØsSßuüÜωΩσςΣжЖ0-_.',
  'ss',
  'ae',
  'æ',
  'e\u0301',
  'E\u0301',
  'e\u0301\u0308',
]
const addresses = fc
  .array(fc.constantFrom(...LETTERS), { minLength: 1, maxLength: 3 })
  .map((letters) => `${letters.join('')}@x.example`)

it('finds the user whose e-mail is the same but for its case, and no other', async () => {
  await using database = await createTestDatabase()
  const users = createUserRepository(database.db)
  const stored = new Map<string, string>()
  let count = 0
  const property = fc.asyncProperty(addresses, addresses, async (email, asked) => {
    const isTaken = stored.has(fold(email))
    await users.insert({ email, username: `u${++count}`, passwordHash: hash('sha1', '') }).then(
      (userid) => {
        expect(isTaken, `${email} stored`).toBe(false)
        stored.set(fold(email), userid)
      },
      (error) => {
        expect(error).toMatchObject({ code: 'email_taken' })
        expect(isTaken, `${email} refused`).toBe(true)
      },
    )
    for (const login of [asked, asked.normalize('NFD'), asked.toUpperCase(), email]) {
      const found = await users.findByLogin('email', login)
      expect(found?.userid, login).toBe(stored.get(fold(login)))
    }
  })
  await fc.assert(property, { numRuns: 80, endOnFailure: true })
})
