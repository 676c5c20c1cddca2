import { expect, it } from 'vitest'
import type { SettingName } from './definitions.ts'
import { parseSettings } from './parse-settings.ts'
import { collectFaults } from './settings-error.ts'

const faultsOf = (settings: Record<string, string>, names: readonly string[] = Object.keys(settings)) =>
  collectFaults(() => parseSettings(names as SettingName[], settings))

const NO_SHARED_SCHEME =
  'PASSWORD_HASH is none of PASSWORD_HASH_SHARED: the other system cannot verify its hashes, and a login here would lock the user out there. Set it to one of them; after the switch, remove PASSWORD_HASH_SHARED instead'
const DKIM = ['DKIM_DOMAIN', 'DKIM_SELECTOR', 'DKIM_KEY']
const PASSKEYS = ['PASSKEY_ORIGINS', 'PASSKEY_RP_ID']
const DKIM_KEY = '-----BEGIN PRIVATE KEY-----'

it.each<{ settings: Record<string, string>; faults?: string[]; names?: string[] }>([
  { settings: { TOKEN_LIFETIME: '3600', REFRESH_WINDOW: '3599' } },
  {
    settings: { TOKEN_LIFETIME: '3600', REFRESH_WINDOW: '3600' },
    faults: [
      'REFRESH_WINDOW must be less than TOKEN_LIFETIME, which is 3600 seconds: a refresh is for the end of a lifetime. For example: REFRESH_WINDOW=1800',
    ],
  },
  ...[
    'postgres://db.example.com/x?sslmode=require',
    'postgres://127.0.0.1/x',
    'mysql://db.example.com/x',
  ].map((DATABASE_URL) => ({
    settings: { DATABASE_URL, PGSSLMODE: 'verify-full' },
    names: ['DATABASE_URL'],
  })),
  {
    settings: { DATABASE_URL: 'postgres://db.example.com/x', PGSSLMODE: 'verify-full' },
    names: ['DATABASE_URL'],
    faults: [
      'DATABASE_URL does not encrypt the connection, and PGSSLMODE, which is not read, is verify-full. Add sslmode=verify-full to it, or unset PGSSLMODE.',
    ],
  },
  { settings: { TOKEN_LIFETIME: '2', REFRESH_WINDOW: '1' } },
  { settings: { PASSWORD_HASH: 'sha1', PASSWORD_HASH_SHARED: '' } },
  { settings: { PASSWORD_HASH: 'sha1', PASSWORD_HASH_SHARED: 'argon2id,sha1' } },
  { settings: { PASSWORD_HASH: 'argon2id', PASSWORD_HASH_SHARED: 'sha1' }, faults: [NO_SHARED_SCHEME] },
  { settings: { HASH_CONCURRENCY: '4', UV_THREADPOOL_SIZE: '5' }, names: ['HASH_CONCURRENCY'] },
  {
    settings: { HASH_CONCURRENCY: '5', UV_THREADPOOL_SIZE: '5' },
    names: ['HASH_CONCURRENCY'],
    faults: [
      "HASH_CONCURRENCY must be less than the threads of libuv's pool, which are 5. Set UV_THREADPOOL_SIZE=6 in the environment of the process",
    ],
  },
  {
    settings: { SECOND_FACTOR: 'on' },
    names: ['SECOND_FACTOR', 'FACTOR_SECRET'],
    faults: ['FACTOR_SECRET is missing, and SECOND_FACTOR is on. Generate one with `npm run secret 32`.'],
  },
  { settings: { SECOND_FACTOR: 'on', SECOND_FACTOR_ROLES: 'admin' } },
  {
    settings: { SECOND_FACTOR: 'off', SECOND_FACTOR_ROLES: 'admin' },
    faults: [
      'SECOND_FACTOR_ROLES names roles, and SECOND_FACTOR is off: their users could not add a second factor. Set SECOND_FACTOR=on, or leave SECOND_FACTOR_ROLES empty.',
    ],
  },
  { settings: {}, names: PASSKEYS },
  { settings: { API_SERVER: 'https://login.example.com' }, names: PASSKEYS },
  { settings: { API_SERVER: 'https://192.0.2.7' }, names: PASSKEYS },
  { settings: { API_SERVER: 'https://login.example.com', PASSKEY_RP_ID: 'example.com' }, names: PASSKEYS },
  {
    settings: { PASSKEY_ORIGINS: 'https://a.example.com:8443,http://localhost:3000' },
    names: ['PASSKEY_ORIGINS'],
  },
  {
    settings: { PASSKEY_ORIGINS: 'https://example.com,https://notexample.com' },
    names: PASSKEYS,
    faults: [
      'PASSKEY_RP_ID is example.com, to which https://notexample.com of PASSKEY_ORIGINS does not belong. Set it to the domain of every page, for example PASSKEY_RP_ID=notexample.com',
    ],
  },
  ...[
    'http://app.example.com',
    'https://app.example.com/',
    'app.example.com',
    'https://192.0.2.7',
    'https://com',
  ].map((PASSKEY_ORIGINS) => ({
    settings: { PASSKEY_ORIGINS },
    names: ['PASSKEY_ORIGINS'],
    faults: [
      expect.stringMatching(/^PASSKEY_ORIGINS must be origins as a browser writes them.* For example: /),
    ],
  })),
  ...['https://example.com', 'example.com:443', 'Example.com', '192.0.2.7', 'com'].map((PASSKEY_RP_ID) => ({
    settings: { PASSKEY_RP_ID },
    names: ['PASSKEY_RP_ID'],
    faults: [expect.stringMatching(/^PASSKEY_RP_ID must be a domain in lower case/)],
  })),
  { settings: {}, names: DKIM },
  { settings: { DKIM_DOMAIN: 'example.com', DKIM_SELECTOR: 'mail', DKIM_KEY }, names: DKIM },
  {
    settings: { DKIM_SELECTOR: 'mail' },
    names: DKIM,
    faults: ['DKIM_DOMAIN', 'DKIM_KEY'].map(
      (name) => `${name} is missing. Set all of DKIM_DOMAIN, DKIM_SELECTOR, DKIM_KEY or none of them.`,
    ),
  },
])('checks settings beside each other: $settings', ({ settings, faults = [], names }) => {
  expect(faultsOf(settings, names)).toEqual(faults)
})

it('checks none beside one that cannot be used', () => {
  expect(faultsOf({ PASSWORD_HASH: 'rot13', PASSWORD_HASH_SHARED: 'sha1' })).toEqual([
    expect.stringMatching(/^PASSWORD_HASH must be /),
  ])
})
