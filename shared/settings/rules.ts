import type { SettingName, Settings } from './definitions.ts'
import type { Environment, Fault } from './setting.ts'

type Faults = readonly (readonly [SettingName, Fault])[]

/** What is wrong with settings that are each valid, but not together. A rule is checked where all of its settings are read. */
interface Rule {
  readonly names: readonly SettingName[]
  readonly findFaults: (settings: Settings, environment: Environment) => Faults
}

const rule = <const Name extends SettingName>(
  names: readonly Name[],
  findFaults: (settings: Settings<Name>, environment: Environment) => Faults,
): Rule => ({ names, findFaults })

const fault = (name: SettingName, what: Fault): Faults => [[name, what]]

const DKIM = ['DKIM_DOMAIN', 'DKIM_SELECTOR', 'DKIM_KEY'] as const

export const RULES: readonly Rule[] = [
  rule(['TOKEN_LIFETIME', 'REFRESH_WINDOW'], ({ TOKEN_LIFETIME: lifetime, REFRESH_WINDOW: window }) =>
    window < lifetime
      ? []
      : fault('REFRESH_WINDOW', {
          message: `must be less than TOKEN_LIFETIME, which is ${lifetime} seconds: a refresh is for the end of a lifetime`,
          remedy: `For example: REFRESH_WINDOW=${Math.floor(lifetime / 2)}`,
        }),
  ),
  rule(
    ['PASSWORD_HASH', 'PASSWORD_HASH_SHARED'],
    ({ PASSWORD_HASH: scheme, PASSWORD_HASH_SHARED: shared }) =>
      shared.length === 0 || shared.includes(scheme)
        ? []
        : fault('PASSWORD_HASH', {
            message:
              'is none of PASSWORD_HASH_SHARED: the other system cannot verify its hashes, and a login here would lock the user out there',
            remedy: 'Set it to one of them; after the switch, remove PASSWORD_HASH_SHARED instead',
          }),
  ),
  // For libuv's pool, DNS, files and WebCrypto would wait behind the hashes.
  rule(['HASH_CONCURRENCY'], ({ HASH_CONCURRENCY: hashes }, { UV_THREADPOOL_SIZE: threads }) =>
    threads === undefined || hashes < Number(threads)
      ? []
      : fault('HASH_CONCURRENCY', {
          message: `must be less than the threads of libuv's pool, which are ${threads}`,
          remedy: `Set UV_THREADPOOL_SIZE=${hashes + 1} in the environment of the process`,
        }),
  ),
  rule(DKIM, (settings) => {
    const missing = DKIM.filter((name) => settings[name] === undefined)
    const remedy = `Set all of ${DKIM.join(', ')} or none of them.`
    if (missing.length === DKIM.length) return []
    return missing.flatMap((name) => fault(name, { message: 'is missing', remedy }))
  }),
]
