import { generateKeyPairSync } from 'node:crypto'
import { chmod, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { generatePrivateKey, KEY_KINDS } from '../secrets/private-key.ts'
import { parseSettings } from './parse-settings.ts'
import { collectFaults } from './settings-error.ts'

const NAMES = [
  'JWT_ALGORITHM',
  'JWT_SECRET',
  'JWT_PRIVATE_KEY',
  'JWT_PRIVATE_KEY_FILE',
  'JWT_PRIVATE_KEY_NEXT',
  'JWT_PRIVATE_KEY_NEXT_FILE',
  'JWT_PRIVATE_KEY_PREVIOUS',
  'JWT_PRIVATE_KEY_PREVIOUS_FILE',
] as const

const faultsOf = (settings: Record<string, string>) => collectFaults(() => parseSettings(NAMES, settings))
const parse = (settings: Record<string, string>) => parseSettings(NAMES, settings)

const PKCS8 = { type: 'pkcs8', format: 'pem' } as const
const SPKI = { type: 'spki', format: 'pem' } as const
const pemOf = ({ privateKey }: ReturnType<typeof generateKeyPairSync>) => privateKey.export(PKCS8).toString()

const [ED, OTHER, EC] = [
  generatePrivateKey('ed25519'),
  generatePrivateKey('ed25519'),
  generatePrivateKey('es256'),
]
const JWT_SECRET = Buffer.from(Array.from({ length: 64 }, (_, index) => index)).toString('base64')
const EDDSA = { JWT_ALGORITHM: 'EdDSA' }

async function aFile(text: string, mode = 0o600) {
  const folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-key-'))
  const path = join(folder.path, 'key.pem')
  await writeFile(path, text)
  await chmod(path, mode)
  return { path, [Symbol.asyncDispose]: () => folder.remove() }
}

it.each(KEY_KINDS)('reads what is generated, %s, in any spelling of its line ends', (kind) => {
  const pem = generatePrivateKey(kind)
  const read = [pem, pem.replaceAll('\n', '\\n'), pem.replaceAll('\n', '\r\n'), pem.trim()].map(
    (text) => parse({ JWT_SECRET, JWT_PRIVATE_KEY_NEXT: text }).JWT_PRIVATE_KEY_NEXT,
  )
  for (const each of read) expect(each?.key.export(PKCS8)).toBe(pem)
})

it.each([
  {
    type: 'PKCS #1',
    key: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
    as: 'pkcs1',
    algorithm: 'RS256',
  },
  {
    type: 'SEC 1',
    key: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    as: 'sec1',
    algorithm: 'ES256',
  },
] as const)('reads $type too', ({ key, as, algorithm }) => {
  const pem = key().privateKey.export({ type: as, format: 'pem' }).toString()
  expect(parse({ JWT_ALGORITHM: algorithm, JWT_PRIVATE_KEY: pem }).JWT_PRIVATE_KEY).toMatchObject({
    algorithm,
  })
})

describe('a key that cannot be used', () => {
  const rsa = (modulusLength: number) => generateKeyPairSync('rsa', { modulusLength })
  it.each<{ why: string; key: () => string; says: string }>([
    {
      why: 'a public key',
      key: () => generateKeyPairSync('ed25519').publicKey.export(SPKI).toString(),
      says: 'is a public key, which cannot sign. Give the private key that belongs to it.',
    },
    {
      why: 'an encrypted key',
      key: () =>
        generateKeyPairSync('ed25519')
          .privateKey.export({ ...PKCS8, cipher: 'aes-256-cbc', passphrase: 'hunter2' })
          .toString(),
      says: 'is encrypted. Decrypt it: openssl pkey -in <file> -out <new file>',
    },
    {
      why: 'an encrypted key of PKCS #1',
      key: () =>
        rsa(2048)
          .privateKey.export({ type: 'pkcs1', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'hunter2' })
          .toString(),
      says: 'is encrypted.',
    },
    {
      why: 'a short RSA key',
      key: () => pemOf(rsa(1024)),
      says: 'has 1024 bits, and at least 2048 are needed.',
    },
    {
      why: 'another curve',
      key: () => pemOf(generateKeyPairSync('ec', { namedCurve: 'P-384' })),
      says: 'must be a key for EdDSA (Ed25519), ES256 (the curve P-256) or RS256 (RSA).',
    },
    {
      why: 'RSA for PSS only',
      key: () => pemOf(generateKeyPairSync('rsa-pss', { modulusLength: 2048 })),
      says: 'must be a key for EdDSA',
    },
    {
      why: 'a key that agrees and does not sign',
      key: () => pemOf(generateKeyPairSync('x25519')),
      says: 'must be a key for EdDSA',
    },
    {
      why: 'half of a key',
      key: () => ED.slice(0, 60),
      says: 'must be a private key in PEM format. Generate one with',
    },
    {
      why: 'a certificate',
      key: () => '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n',
      says: 'must be a private key in PEM format.',
    },
  ])('is refused, and nothing of it is shown: $why', async ({ key, says }) => {
    const pem = key()
    await using file = await aFile(pem)
    const faults = [
      ...faultsOf({ ...EDDSA, JWT_PRIVATE_KEY: pem }),
      ...faultsOf({ ...EDDSA, JWT_PRIVATE_KEY_FILE: file.path }),
    ]
    expect(faults).toEqual([
      expect.stringContaining(`JWT_PRIVATE_KEY ${says}`),
      expect.stringContaining(`JWT_PRIVATE_KEY_FILE ${says}`),
    ])
    for (const line of pem.split('\n').filter((each) => each.length > 30))
      expect(faults.join()).not.toContain(line.slice(0, 20))
  })
})

describe('a file of a key', () => {
  it('is refused when others may read it, and taken when only its user or group may', async () => {
    for (const mode of [0o644, 0o604, 0o602, 0o666]) {
      await using file = await aFile(ED, mode)
      expect(faultsOf({ ...EDDSA, JWT_PRIVATE_KEY_FILE: file.path }), mode.toString(8)).toEqual([
        expect.stringMatching(
          /^JWT_PRIVATE_KEY_FILE can be read by every user of the system\. Run chmod 600/,
        ),
      ])
    }
    for (const mode of [0o400, 0o600, 0o440]) {
      await using file = await aFile(ED, mode)
      expect(faultsOf({ ...EDDSA, JWT_PRIVATE_KEY_FILE: file.path }), mode.toString(8)).toEqual([])
    }
  })

  it.each([
    {
      why: 'is missing',
      path: '/nowhere/key.pem',
      says: 'must be the path of a file that can be read (ENOENT).',
    },
    { why: 'is a folder', path: tmpdir(), says: 'must be the path of a file that can be read (EISDIR).' },
    { why: 'is the key', path: ED, says: 'must be the path of a file, not the key.' },
  ])('is refused when it $why', ({ path, says }) => {
    const [fault = ''] = faultsOf({ ...EDDSA, JWT_PRIVATE_KEY_FILE: path })
    expect(fault).toContain(`JWT_PRIVATE_KEY_FILE ${says}`)
    expect(fault).not.toContain(ED.split('\n')[1])
  })

  it('is not named in the place of the key', () => {
    expect(faultsOf({ ...EDDSA, JWT_PRIVATE_KEY: '/run/secrets/key.pem' })).toEqual([
      'JWT_PRIVATE_KEY must be a private key in PEM format. Generate one with `npm run secret -- --key ed25519`; the path of a file belongs to the setting that ends with _FILE.',
    ])
  })
})

describe('keys beside the algorithm', () => {
  it.each<{ settings: Record<string, string>; faults: string[] }>([
    { settings: { JWT_SECRET }, faults: [] },
    { settings: {}, faults: ['JWT_SECRET is missing. Generate one with `npm run secret`.'] },
    { settings: { JWT_SECRET, JWT_PRIVATE_KEY_NEXT: ED, JWT_PRIVATE_KEY_PREVIOUS: EC }, faults: [] },
    { settings: { ...EDDSA, JWT_PRIVATE_KEY: ED }, faults: [] },
    { settings: { ...EDDSA, JWT_PRIVATE_KEY: ED, JWT_PRIVATE_KEY_PREVIOUS: EC }, faults: [] },
    {
      settings: { JWT_SECRET, JWT_PRIVATE_KEY: ED },
      faults: [
        'JWT_PRIVATE_KEY signs nothing while JWT_ALGORITHM is HS512. Set JWT_ALGORITHM=EdDSA, or publish the key first, as JWT_PRIVATE_KEY_NEXT.',
      ],
    },
    {
      settings: { ...EDDSA, JWT_SECRET },
      faults: [
        'JWT_PRIVATE_KEY is missing, and JWT_ALGORITHM is EdDSA. Set it or JWT_PRIVATE_KEY_FILE; generate one with `npm run secret -- --key ed25519`.',
      ],
    },
    {
      settings: { ...EDDSA, JWT_PRIVATE_KEY: EC },
      faults: [
        'JWT_PRIVATE_KEY is a key for ES256, and JWT_ALGORITHM is EdDSA. Set JWT_ALGORITHM=ES256, or generate one with `npm run secret -- --key ed25519`.',
      ],
    },
    {
      settings: { ...EDDSA, JWT_PRIVATE_KEY: ED, JWT_PRIVATE_KEY_NEXT: ED },
      faults: [
        'JWT_PRIVATE_KEY_NEXT is the key of JWT_PRIVATE_KEY. Set the other key, or leave it empty where there is none.',
      ],
    },
  ])('$faults', ({ settings, faults }) => {
    expect(faultsOf(settings)).toEqual(faults)
  })

  it('are given inline or by a file, not both', async () => {
    await using file = await aFile(OTHER)
    for (const name of ['JWT_PRIVATE_KEY', 'JWT_PRIVATE_KEY_NEXT', 'JWT_PRIVATE_KEY_PREVIOUS']) {
      const settings = { ...EDDSA, JWT_PRIVATE_KEY: ED, [name]: ED, [`${name}_FILE`]: file.path }
      expect(faultsOf(settings)).toContain(
        `${name} and ${name}_FILE are both set. Set one of them, and leave the other one empty.`,
      )
    }
  })
})
