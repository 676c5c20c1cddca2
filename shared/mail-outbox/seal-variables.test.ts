import { randomBytes } from 'node:crypto'
import { CompactEncrypt, errors } from 'jose'
import { describe, expect, it } from 'vitest'
import { createSealer } from './seal-variables.ts'

describe('sealed variables', () => {
  it('open to what was sealed, and reveal nothing of it', async () => {
    const sealer = createSealer(randomBytes(32))
    const sealed = await sealer.seal({ code: '123456', minutes: '10' })
    expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('123456')
    expect(await sealer.open(sealed)).toEqual({ code: '123456', minutes: '10' })
  })

  it('do not open with another key, or when changed', async () => {
    const sealed = await createSealer(randomBytes(32)).seal({ code: '123456' })
    const other = createSealer(randomBytes(32))
    await expect(other.open(sealed)).rejects.toThrow(errors.JWEDecryptionFailed)
    const sealer = createSealer(randomBytes(32))
    const parts = (await sealer.seal({ code: '123456' })).split('.')
    parts[3] = Buffer.from('other').toString('base64url')
    await expect(sealer.open(parts.join('.'))).rejects.toThrow(errors.JWEDecryptionFailed)
  })

  it.each([
    { why: 'a part is missing', change: (parts: string[]) => parts.slice(0, 4) },
    { why: 'the tag is cut', change: (parts: string[]) => [...parts.slice(0, 4), parts[4]?.slice(0, 6)] },
    {
      why: 'the vector is cut',
      change: ([head, key, iv, ...rest]: string[]) => [head, key, iv?.slice(1), ...rest],
    },
  ])('do not open when $why', async ({ change }) => {
    const sealer = createSealer(randomBytes(32))
    const parts = (await sealer.seal({ code: '123456' })).split('.')
    await expect(sealer.open(change(parts).join('.'))).rejects.toThrow(errors.JOSEError)
  })

  it('do not open when sealed by another algorithm, even with the same key', async () => {
    const key = randomBytes(32)
    const sealed = await new CompactEncrypt(new TextEncoder().encode('{"code":"123456"}'))
      .setProtectedHeader({ alg: 'dir', enc: 'A128CBC-HS256' })
      .encrypt(key)
    await expect(createSealer(key).open(sealed)).rejects.toThrow(/not allowed/)
  })

  it('require a key of 32 bytes', () => {
    expect(() => createSealer(randomBytes(31))).toThrow(/at least 32 bytes/)
  })
})
