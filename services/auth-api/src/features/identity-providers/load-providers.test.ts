import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { readSnippets } from '../../../../../scripts/docs/snippets.ts'
import { loadProviders } from './load-providers.ts'

const ROOT = join(import.meta.dirname, '../../../../..')

const settingsOf = (prefix: string, given: object = {}) =>
  Object.fromEntries(
    Object.entries({ ISSUER: 'https://issuer.example', CLIENT_ID: 'latchkey', ...given }).map(
      ([name, value]) => [`OIDC_${prefix}_${name}`, value],
    ),
  )

/** The faults of the settings. */
const faultsOf = (names: string[], environment: Record<string, string>): Promise<readonly string[]> =>
  loadProviders(names, { APP_ENV: 'prod', ...environment }).then(
    () => [],
    ({ faults }) => faults,
  )

it('loads nothing where there are no providers', async () => {
  expect(await loadProviders([], {}, '/nowhere')).toEqual(new Map())
})

it('reads the settings of each provider, by its name', async () => {
  const providers = await loadProviders(['google', 'my-work'], {
    ...settingsOf('GOOGLE', { LABEL: '<b>Google</b>' }),
    ...settingsOf('MY_WORK', { CLIENT_SECRET: 'secret' }),
  })
  expect([...providers].map(([name, { label }]) => [name, label])).toEqual([
    ['google', '<b>Google</b>'],
    ['my-work', 'my-work'],
  ])
})

it.each([
  { given: { ISSUER: '' }, fault: /^OIDC_A_ISSUER is missing|must be a URL/ },
  { given: { ISSUER: 'issuer.example' }, fault: /^OIDC_A_ISSUER must be a URL that starts with https:/ },
  { given: { ISSUER: 'https://user@issuer.example' }, fault: /^OIDC_A_ISSUER must be a URL/ },
  { given: { ISSUER: 'https://issuer.example?a=1' }, fault: /^OIDC_A_ISSUER must be a URL/ },
  { given: { ISSUER: 'http://issuer.example' }, fault: /^OIDC_A_ISSUER must start with https:/ },
  { given: { ISSUER: 'http://localhost:9400' }, fault: /^OIDC_A_ISSUER must start with https:/ },
  { given: { CLIENT_ID: '' }, fault: /^OIDC_A_CLIENT_ID is missing/ },
  { given: { SCOPES: 'email' }, fault: /^OIDC_A_SCOPES must contain openid/ },
  { given: { LABEL: 'a\nb' }, fault: /^OIDC_A_LABEL must be a name/ },
  { given: { LABEL: 'a'.repeat(51) }, fault: /^OIDC_A_LABEL must be a name/ },
  {
    given: { CLIENT_SECRET_FILE: '/nowhere' },
    fault: /^OIDC_A_CLIENT_SECRET_FILE must be the path .*ENOENT/,
  },
  { given: { CLIENT_SECRET_FILE: '/dev/null' }, fault: /^OIDC_A_CLIENT_SECRET_FILE .* is empty/ },
  {
    given: { CLIENT_SECRET: 'one', CLIENT_SECRET_FILE: import.meta.filename },
    fault: /^OIDC_A_CLIENT_SECRET and OIDC_A_CLIENT_SECRET_FILE are both set/,
  },
  {
    given: { CLIENT_SECERT: 'secret' },
    fault: /^OIDC_A_CLIENT_SECERT is not a setting. Did you mean OIDC_A_CLIENT_SECRET/,
  },
])('refuses $given', async ({ given, fault }) => {
  const faults = await faultsOf(['a'], settingsOf('A', given))
  expect(faults).toEqual([expect.stringMatching(fault)])
  expect(faults.join()).not.toMatch(/=(secret|one)/)
})

it('reports the faults of all providers together', async () => {
  expect(await faultsOf(['a', 'b'], {})).toHaveLength(4)
})

it('accepts an issuer without TLS on loopback in dev and test only', async () => {
  for (const issuer of ['http://localhost:9400', 'http://127.0.0.1:9400', 'http://[::1]:9400/realm'])
    expect(await faultsOf(['a'], { ...settingsOf('A', { ISSUER: issuer }), APP_ENV: 'test' })).toEqual([])
})

it('has an example of an own provider that works', async () => {
  const [example] = readSnippets(ROOT, 'docs/how-to/log-in-with-google.md').filter(
    ({ language, plan }) => language === 'ts' && plan?.kind === 'run by',
  )
  // Inside the project, which has what the example imports.
  await using config = await mkdtempDisposable(join(import.meta.dirname, '.generated-'))
  await writeFile(
    join(config.path, 'external.ts'),
    `export { MAIL_ENVELOPE, SENDERS } from '../../../../../../config/external.ts'
    export const IDENTITY_PROVIDERS = (name) => ({
      label: name,
      complete: async ({ hash }) => ({ subject: 'ada', email: hash.slice(1), isEmailVerified: true, hasSecondFactor: false }),
    })`,
  )
  const file = join(config.path, 'staging', 'external.ts')
  await mkdir(dirname(file))
  await writeFile(file, example?.text ?? '')
  const providers = await loadProviders(['work', 'google'], { APP_ENV: 'staging' }, config.path)
  const complete = (name: string, email: string) =>
    providers
      .get(name)
      ?.complete(new URL(`https://x.org/#${email}`), { state: '', nonce: '', codeVerifier: '' })
  await expect(complete('work', 'ada@example.com')).resolves.toMatchObject({ subject: 'ada' })
  await expect(complete('google', 'ada@example.org')).resolves.toMatchObject({ subject: 'ada' })
  await expect(complete('work', 'ada@example.org')).rejects.toThrow('no employee')
})

it('needs the factory', async () => {
  await using config = await mkdtempDisposable(join(import.meta.dirname, '.generated-'))
  await writeFile(join(config.path, 'external.ts'), '')
  await expect(loadProviders(['a'], {}, config.path)).rejects.toMatchObject({
    faults: [expect.stringMatching(/external\.ts does not export a function IDENTITY_PROVIDERS/)],
  })
})
