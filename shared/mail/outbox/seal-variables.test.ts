import { createSecretKey, randomBytes } from 'node:crypto'
import { CompactEncrypt, errors } from 'jose'
import { describe, expect, it } from 'vitest'
import { createSealer, SealedForAnotherMail } from './seal-variables.ts'

const ID = 'd8f1f1a3-8a59-4d1c-a3b8-0d6e3b8a7a10'
const mail = {
  to: 'ada@example.com',
  subject: '',
  template: 'password-reset',
  language: 'en',
  expiresAt: '2026-01-01T00:10:00.000Z',
}
const variables = { code: '123456', minutes: '10' }

describe('sealed variables', () => {
  it('open to what was sealed, and reveal nothing of it', async () => {
    const sealer = createSealer(randomBytes(32))
    const sealed = await sealer.seal(ID, mail, variables)
    expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('123456')
    expect(await sealer.open(ID, { ...mail, variables: sealed })).toEqual(variables)
  })

  it.each([
    { field: 'id', id: 'another', changes: {} },
    { field: 'to', changes: { to: 'eve@example.com' } },
    { field: 'subject', changes: { subject: 'another' } },
    { field: 'template', changes: { template: 'welcome' } },
    { field: 'language', changes: { language: 'fr' } },
    { field: 'expiresAt', changes: { expiresAt: '2036-01-01T00:10:00.000Z' } },
  ])('do not open for a mail with another $field', async ({ field, id = ID, changes }) => {
    const sealer = createSealer(randomBytes(32))
    const job = { ...mail, variables: await sealer.seal(ID, mail, variables), ...changes }
    await expect(sealer.open(id, job)).rejects.toThrow(SealedForAnotherMail)
    await expect(sealer.open(id, job)).rejects.toThrow(`${field} differs`)
  })

  it('open with the previous key too, and are never sealed with it', async () => {
    const [former, present] = [randomBytes(32), randomBytes(32)]
    const sealer = createSealer(present, former)
    const sealedBefore = await createSealer(former).seal(ID, mail, variables)
    expect(await sealer.open(ID, { ...mail, variables: sealedBefore })).toEqual(variables)
    const sealedNow = await sealer.seal(ID, mail, variables)
    expect(await createSealer(present).open(ID, { ...mail, variables: sealedNow })).toEqual(variables)
  })

  it('do not open with another key, or when changed', async () => {
    const sealed = await createSealer(randomBytes(32)).seal(ID, mail, variables)
    const other = createSealer(randomBytes(32))
    await expect(other.open(ID, { ...mail, variables: sealed })).rejects.toThrow(errors.JWEDecryptionFailed)
    const sealer = createSealer(randomBytes(32))
    const parts = (await sealer.seal(ID, mail, variables)).split('.')
    parts[3] = Buffer.from('other').toString('base64url')
    const changed = { ...mail, variables: parts.join('.') }
    await expect(sealer.open(ID, changed)).rejects.toThrow(errors.JWEDecryptionFailed)
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
    const parts = (await sealer.seal(ID, mail, variables)).split('.')
    const changed = { ...mail, variables: change(parts).join('.') }
    await expect(sealer.open(ID, changed)).rejects.toThrow(errors.JOSEError)
  })

  it('do not open when sealed by another algorithm, even with the same key', async () => {
    const key = randomBytes(32)
    const sealed = await new CompactEncrypt(
      Buffer.from(JSON.stringify({ mail: { ...mail, id: ID }, variables })),
    )
      .setProtectedHeader({ alg: 'dir', enc: 'A128CBC-HS256' })
      .encrypt(createSecretKey(key))
    const opened = createSealer(key).open(ID, { ...mail, variables: sealed })
    await expect(opened).rejects.toThrow(/not allowed/)
  })

  it('require a key of 32 bytes', () => {
    expect(() => createSealer(randomBytes(31))).toThrow(/at least 32 bytes/)
  })
})
