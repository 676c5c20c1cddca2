import { expect, it } from 'vitest'
import type { SettingName } from './definitions.ts'
import { parseSettings } from './parse-settings.ts'
import { collectFaults } from './settings-error.ts'

const faultsOf = (settings: Record<string, string>, names: readonly string[] = Object.keys(settings)) =>
  collectFaults(() => parseSettings(names as SettingName[], settings))

const NO_SHARED_SCHEME =
  'PASSWORD_HASH is none of PASSWORD_HASH_SHARED: the other system cannot verify its hashes, and a login here would lock the user out there. Set it to one of them; after the switch, remove PASSWORD_HASH_SHARED instead'
const DKIM = ['DKIM_DOMAIN', 'DKIM_SELECTOR', 'DKIM_KEY']
const DKIM_KEY = '-----BEGIN PRIVATE KEY-----'

it.each<{ settings: Record<string, string>; faults?: string[]; names?: string[] }>([
  { settings: { TOKEN_LIFETIME: '3600', REFRESH_WINDOW: '3599' } },
  {
    settings: { TOKEN_LIFETIME: '3600', REFRESH_WINDOW: '3600' },
    faults: [
      'REFRESH_WINDOW must be less than TOKEN_LIFETIME, which is 3600 seconds: a refresh is for the end of a lifetime. For example: REFRESH_WINDOW=1800',
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
