import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { listFiles } from '@latchkey/test-support/list-files.ts'
import { describe, expect, it } from 'vitest'
import { parseSettings } from '../settings/parse-settings.ts'
import { isPublishedSecret } from './published-secrets.ts'
import { decodeSecret, generateSecret } from './secret.ts'

const ROOT = join(import.meta.dirname, '..', '..')

describe('decodeSecret', () => {
  it('accepts what generateSecret makes, to the byte', () => {
    expect(decodeSecret(generateSecret(64), 64)).toEqual({ bytes: expect.any(Uint8Array) })
    expect(decodeSecret(generateSecret(63), 64).fault).toContain('63 bytes')
  })
})

describe('a secret that stands in this repository', () => {
  const files = listFiles(ROOT).filter((file) => !/package-lock\.json$|\.(png|jpg|woff2?)$/.test(file))

  /**
   * Base64 text that could be used as one of the two secrets, but no hexadecimal digests, no paths or URLs and no hashes of
   * passwords.
   */
  const published = files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    return [...text.matchAll(/(?<![\w.+/=$])[A-Za-z0-9+/]{43,}={0,2}(?![\w+/=])/g)]
      .map(([secret]) => ({ file, secret }))
      .filter(
        ({ secret }) =>
          !/^([a-z\d/]+|(\/([A-Za-z]{2,12}|\d))+)$/.test(secret) &&
          decodeSecret(secret, 32).fault === undefined,
      )
  })

  it.each(published)('is refused in prod: $file', ({ secret }) => {
    expect(isPublishedSecret(secret)).toBe(true)
    expect(() => parseSettings(['MAIL_SECRET'], { APP_ENV: 'prod', MAIL_SECRET: secret })).toThrow(
      /published/,
    )
  })

  it('is found by this test', () => {
    expect(published.map(({ file }) => file)).toContain('docs/how-to/create-secrets.md')
  })
})
