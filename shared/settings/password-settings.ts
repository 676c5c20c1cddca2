import type { Derived } from './declare-config.ts'
import type { SettingName } from './definitions.ts'
import { describeFault, type Settings } from './parse-settings.ts'
import { SettingsError } from './settings-error.ts'

type Given<Name extends SettingName> = Settings<Name | 'PASSWORD_HASH_SHARED'>

/** PASSWORD_HASH, which another system on the same database must be able to verify. */
export const hashScheme = {
  names: ['PASSWORD_HASH', 'PASSWORD_HASH_SHARED'],
  derive({ PASSWORD_HASH: scheme, PASSWORD_HASH_SHARED: shared }: Given<'PASSWORD_HASH'>): string {
    if (shared.length === 0 || shared.includes(scheme)) return scheme
    const message =
      'is none of PASSWORD_HASH_SHARED: the other system cannot verify its hashes, and a login here would lock the user out there'
    const remedy = 'Set it to one of them; after the switch, remove PASSWORD_HASH_SHARED instead'
    throw new SettingsError([describeFault('PASSWORD_HASH', { message, remedy })])
  },
} satisfies Derived<string>

/** The schemes of stored hashes that verify: those that this system and the other one write. */
export const acceptedSchemes = {
  names: ['PASSWORD_HASH_ACCEPTED', 'PASSWORD_HASH_SHARED'],
  derive: ({
    PASSWORD_HASH_ACCEPTED: accepted,
    PASSWORD_HASH_SHARED: shared,
  }: Given<'PASSWORD_HASH_ACCEPTED'>): readonly string[] => [...new Set([...accepted, ...shared])],
} satisfies Derived<readonly string[]>

/** Throws `SettingsError` where hashes could hold all threads of libuv's pool, for which DNS, files and WebCrypto wait then. */
export function refuseSmallPool(concurrency: number, threads: number): void {
  if (concurrency < threads) return
  const message = `must be less than the threads of libuv's pool, which are ${threads}`
  const remedy = `Set UV_THREADPOOL_SIZE=${concurrency + 1} in the environment of the process`
  throw new SettingsError([describeFault('HASH_CONCURRENCY', { message, remedy })])
}
