import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SettingName } from './definitions.ts'
import { parseSettings } from './parse-settings.ts'
import { collectFaults } from './settings-error.ts'
import { parseTls, type TlsMode } from './tls-options.ts'

/** A URL of each kind, and the setting that takes it. */
const KINDS = {
  postgres: ['DATABASE_URL', 'postgres://u:hunter2@db.example.com/x'],
  mysql: ['DATABASE_URL', 'mysql://u:hunter2@db.example.com/x'],
  mariadb: ['AUTH_API_DATABASE_URL', 'mariadb://u:hunter2@db.example.com/x'],
  queue: ['QUEUE_URL', 'postgresql://u:hunter2@db.example.com/x'],
  redis: ['QUEUE_URL', 'redis://u:hunter2@redis.example.com/1'],
  sentinel: ['QUEUE_URL', 'redis-sentinel://u:hunter2@a,b/0?sentinelMasterId=main'],
  cluster: ['QUEUE_URL', 'redis-cluster://u:hunter2@a,b'],
  smtp: ['MAIL_URL', 'smtp://u:hunter2@smtp.example.com'],
} as const satisfies Record<string, readonly [SettingName, string]>
type Kind = keyof typeof KINDS

const withOption = (kind: Kind, option: string): string => {
  const [, url] = KINDS[kind]
  return `${url}${url.includes('?') ? '&' : '?'}${option}`
}

function faultsOf(kind: Kind, option: string): string[] {
  const [name] = KINDS[kind]
  const faults = collectFaults(() => parseSettings([name], { [name]: withOption(kind, option) }))
  expect(faults.join()).not.toMatch(/hunter2|s3cret/)
  for (const fault of faults) expect(fault).toMatch(new RegExp(`^${name} must `))
  return faults
}

const SQL = ['postgres', 'mysql', 'mariadb', 'queue'] as const
const WITH_TLS = [...SQL, 'redis', 'sentinel', 'cluster'] as const

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-url-'))
  await writeFile(join(folder, 'ca.crt'), '-----BEGIN CERTIFICATE-----\n')
  await writeFile(join(folder, 'text'), 's3cret')
})
afterAll(() => rm(folder, { recursive: true }))

describe('an option that the driver takes', () => {
  it.each<[Kind, string]>([
    ['postgres', 'application_name=x'],
    ['postgres', 'options=-c%20search_path%3Dauth'],
    ['postgres', 'lock_timeout=500'],
    ['postgres', 'sslmode=require&uselibpqcompat=true'],
    ['queue', 'host=/run/postgresql&port=5433'],
    ['mysql', 'socketPath=/run/mysqld/mysqld.sock'],
    ['mysql', 'compress=true'],
    ['mariadb', 'charset=utf8mb4'],
    ['redis', 'family=0'],
    ['sentinel', 'sentinelPassword=hunter2'],
    ['smtp', 'requireTLS=true'],
    ['smtp', 'name=mail.example.com&socketTimeout=30000'],
    ['smtp', 'tls.rejectUnauthorized=false'],
  ])('of %s is taken: %s', (kind, option) => {
    expect(faultsOf(kind, option)).toEqual([])
  })
})

describe('an option that the driver would ignore is refused with the nearest that works', () => {
  it.each<[Kind, string, string]>([
    ['postgres', 'sslmod=require', 'Did you mean sslmode?'],
    ['postgres', 'sslrootcerts=/ca.crt', 'Did you mean sslrootcert?'],
    ['postgres', 'aplication_name=x', 'Did you mean application_name?'],
    ['postgres', 'connect_timeout=10', 'Remove it, or use one of host, port, '],
    ['postgres', 'target_session_attrs=read-write', 'Remove it'],
    ['postgres', 'channel_binding=require', 'Remove it'],
    ['postgres', 'pgbouncer=true', 'Remove it'],
    ['postgres', 'client_encoding=LATIN1', 'Remove it'],
    ['postgres', 'statement_timeout=5', 'Remove it'],
    ['queue', 'max=20', 'Remove it'],
    ['mysql', 'sslaccept=strict', 'Remove it'],
    ['mysql', 'socketpath=/run/mysqld.sock', 'Did you mean socketPath?'],
    ['mysql', 'timezone=local', 'Remove it'],
    ['mysql', 'connectTimeout=1000', 'Remove it'],
    ['mysql', 'dateStrings=true', 'Remove it'],
    ['mysql', 'multipleStatements=true', 'Remove it'],
    ['mariadb', 'serverSslCert=/ca.crt', 'Remove it'],
    ['redis', 'ssl_cert_reqs=none', 'sslmode'],
    ['redis', 'keyPrefix=x', 'Remove it'],
    ['redis', 'enableOfflineQueue=true', 'Remove it'],
    ['sentinel', 'sentinelMasterID=x', 'Did you mean sentinelMasterId?'],
    ['cluster', 'db=1', 'Remove it, or use one of sslmode'],
    ['smtp', 'requireTls=true', 'Did you mean requireTLS?'],
    ['smtp', 'rejectUnauthorized=false', 'Remove it'],
    ['smtp', 'verify_peer=0', 'Remove it'],
    ['smtp', 'sslmode=require', 'Remove it'],
    ['smtp', 'tls.ca=/ca.crt', 'Remove it'],
  ])('%s?%s', (kind, option, remedy) => {
    const [fault = '', ...others] = faultsOf(kind, option)
    expect(others).toEqual([])
    expect(fault).toContain(`must not have the option ${option.split('=')[0]}, which has no effect`)
    expect(fault).toContain(remedy)
  })

  it('whose name may be a part of a password is not shown', () => {
    expect(faultsOf('postgres', 's3cret/word!').join()).toContain('the option of this name')
  })

  it.each<[Kind, string, string]>([
    ['postgres', 'lock_timeout=5s', 'a whole number as its option lock_timeout'],
    ['mysql', 'compress=yes', 'true or false as its option compress'],
    ['mysql', 'charset=latin1', 'as its option charset'],
    ['redis', 'db=x', 'a whole number as its option db'],
    ['smtp', 'requireTLS=yes', 'true or false as its option requireTLS'],
    ['smtp', 'socketTimeout=30s', 'a whole number as its option socketTimeout'],
    ['postgres', 'application_name=x#y', 'nothing after a #'],
    ['mysql', 'compress=true#y', 'nothing after a #'],
    ['smtp', 'requireTLS=true#y', 'nothing after a #'],
  ])('with a value that means nothing: %s?%s', (kind, option, says) => {
    expect(faultsOf(kind, option)).toEqual([expect.stringContaining(says)])
  })
})

describe('TLS', () => {
  const MODES: readonly [string, TlsMode][] = [
    ['sslmode=disable', 'disable'],
    ['sslmode=require', 'require'],
    ['sslmode=verify-ca', 'verify-full'],
    ['sslmode=verify-ca&sslrootcert=system', 'verify-full'],
    ['sslmode=require&sslrootcert=system', 'verify-full'],
    ['sslmode=verify-full', 'verify-full'],
    ['ssl-mode=DISABLED', 'disable'],
    ['ssl-mode=REQUIRED', 'require'],
    ['ssl_mode=VERIFY_CA', 'verify-full'],
    ['sslMode=VERIFY_IDENTITY', 'verify-full'],
    ['sslMode=trust', 'require'],
    ['useSSL=true', 'require'],
    ['useSSL=false', 'disable'],
    ['ssl=true', 'verify-full'],
    ['ssl=1', 'verify-full'],
    ['ssl=0', 'disable'],
    ['ssl=no-verify', 'require'],
    ['tls=true', 'verify-full'],
    ['tls=skip-verify', 'require'],
    ['', 'disable'],
  ]
  it.each(WITH_TLS.flatMap((kind) => MODES.map(([option, mode]) => ({ kind, option, mode }))))(
    'of $kind is $mode by "$option"',
    ({ kind, option, mode }) => {
      expect(faultsOf(kind, option)).toEqual([])
      const url = withOption(kind, option).replace('@a,b', '@a')
      expect(parseTls(new URL(url))).toMatchObject({ tls: { mode } })
    },
  )

  it.each<[string, TlsMode]>([
    ['ssl={"rejectUnauthorized":false}', 'require'],
    ['ssl={"rejectUnauthorized":true}', 'verify-ca'],
    ['ssl={}', 'verify-ca'],
    ['ssl=%7B%22verifyIdentity%22%3Atrue%7D', 'verify-full'],
  ])('of MySQL is, as mysql2 says, by %s: %s', (option, mode) => {
    expect(faultsOf('mysql', option)).toEqual([])
    expect(parseTls(new URL(withOption('mysql', option))).tls.mode).toBe(mode)
  })

  it.each([
    ['sslrootcert=CA', 'verify-full'],
    ['sslmode=verify-full&ssl-ca=CA', 'verify-full'],
    ['sslmode=require&sslrootcert=CA', 'verify-ca'],
    ['sslmode=verify-ca&sslrootcert=CA', 'verify-ca'],
    ['sslmode=verify-full&sslrootcert=system', 'verify-full'],
  ])('verifies by the authority that is named: %s', (option, mode) => {
    for (const kind of SQL) {
      const named = option.replace('CA', join(folder, 'ca.crt'))
      expect(faultsOf(kind, named)).toEqual([])
      expect(parseTls(new URL(withOption(kind, named))).tls.mode).toBe(mode)
    }
  })

  it('of rediss: is verified, unless its options say otherwise', () => {
    const modeOf = (options: string) => parseTls(new URL(`rediss://:x@a${options}`))
    expect(modeOf('').tls.mode).toBe('verify-full')
    expect(modeOf('?sslmode=require').tls.mode).toBe('require')
    expect(modeOf('?ssl=false').fault?.message).toBe('must say once whether the connection is encrypted')
  })

  it.each([
    ['sslmode=prefer', 'one of disable, require, verify-ca and verify-full as its sslmode'],
    ['sslmode=allow', 'as its sslmode'],
    ['ssl-mode=PREFERRED', 'as its ssl-mode'],
    ['tls=preferred', 'as its tls'],
    ['sslmode=verify', 'as its sslmode'],
    ['sslmode=', 'as its sslmode'],
    ['sslmode=true', 'as its sslmode'],
    ['sslmode=require&ssl=true', 'once whether the connection is encrypted'],
    ['sslmode=disable&sslmode=require', 'once whether the connection is encrypted'],
    ['sslrootcert=/nowhere/ca.crt', 'not readable or not PEM (ENOENT)'],
    ['sslmode=verify-full&sslcert=/nowhere/x.crt', 'not readable or not PEM (ENOENT)'],
  ])('is refused where nobody could say what it means: %s', (option, says) => {
    for (const kind of WITH_TLS) expect(faultsOf(kind, option)).toEqual([expect.stringContaining(says)])
  })

  it('is refused with a file that is not PEM', () => {
    const option = `sslrootcert=${join(folder, 'text')}`
    for (const kind of WITH_TLS) expect(faultsOf(kind, option)[0]).toContain('not readable or not PEM.')
  })

  it.each([
    ['mysql', 'ssl={"ca":"/etc/s3cret.pem"}', 'Write &sslrootcert=/path'],
    ['mysql', 'ssl={"cert":"/etc/s3cret.pem"}', 'Write &sslcert=/path'],
    ['mysql', 'ssl={"rejectUnauthorised":false}', 'must have in ssl only ca, cert'],
    ['mysql', 'ssl=[]', 'must have'],
    ['postgres', 'ssl={"ca":"/etc/s3cret.pem"}', 'as its ssl'],
    ['redis', 'ssl={"rejectUnauthorized":false}', 'as its ssl'],
  ] as const)('is refused with JSON that %s would not take: %s', (kind, option, says) => {
    expect(faultsOf(kind, option)[0]).toContain(says)
  })
})

describe('a password', () => {
  const at = (kind: Kind, password: string) => {
    const [name, url] = KINDS[kind]
    return collectFaults(() => parseSettings([name], { [name]: url.replace('hunter2', password) }))
  }
  const kinds = Object.keys(KINDS) as Kind[]

  it.each(kinds)('of %s with a % that begins no escape is refused with how to write it', (kind) => {
    const [name] = KINDS[kind]
    for (const password of ['pa%ss', '100%', '100%de', 'gr%FCn', '%'])
      expect(at(kind, password)).toEqual([
        `${name} must have each % of its user name and password written %25. Other characters are percent-encoded as UTF-8: ü is %C3%BC.`,
      ])
  })

  it.each(kinds)('of %s with @, / or # is refused with how to write it', (kind) => {
    for (const password of ['a@b', 'a/b', 'a#b', 'a?b'])
      expect(at(kind, password)[0]).toContain('Write %40 for @, %2F for /, %3F for ? and %23 for #.')
  })

  it.each(kinds)('of %s may have umlauts, and everything percent-encoded', (kind) => {
    for (const password of ['grün', 'gr%C3%BCn', '%25%40%23%2F', 'a:b', 'a+b', "a'$!b"])
      expect(at(kind, password)).toEqual([])
  })

  it.each(kinds)('of %s loses no tab or line break silently', (kind) => {
    for (const password of ['a\tb', 'a\nb'])
      expect(at(kind, password)[0]).toContain('must be one line without tabs')
  })
})
