import { randomUUID } from 'node:crypto'
import { docker, imageOf } from '@latchkey/test-support/images.ts'
import { builtServiceImages } from '@latchkey/test-support/servers/shared-server.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

beforeAll(builtServiceImages)

const volume = `latchkey-secrets-${randomUUID()}`
afterAll(() => docker('volume', 'rm', '--force', volume))

const onVolume = (options: string[], ...command: string[]) =>
  docker(
    ...['run', '--rm', '--user', '0:0', '-v', `${volume}:/secrets`, ...options],
    ...[imageOf('auth-api'), ...command],
  )
/** Runs the service secrets-<engine> of docker-compose.yml with one volume instead of its three. */
const createSecrets = (engine: string, args: string[] = [], environment = 'dev') =>
  onVolume(
    ['-e', `DATABASE_ENGINE=${engine}`, '-e', `APP_ENV=${environment}`],
    ...['node', 'scripts/release/compose-secrets.ts', ...args],
  ).catch((error: unknown) => error)
const databaseUrl = () =>
  onVolume(
    ['--entrypoint', 'sh'],
    ...['-c', "sed -n 's/^DATABASE_URL=\\([a-z]*\\):.*/\\1/p' /secrets/auth-api/credentials.env"],
  )
const read = (name: string) =>
  onVolume(['--entrypoint', 'sh'], '-c', `sed -n 's/^${name}=//p' /secrets/auth-api/credentials.env`)

describe('a compose project', () => {
  it('changes its database only with --change-database', async () => {
    expect(await createSecrets('mysql')).toBe('')
    expect(await createSecrets('mysql'), 'a second up').toBe('')
    expect(await createSecrets('postgres')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('The services use mysql'),
    })
    expect(await databaseUrl()).toBe('mysql')
    expect(await createSecrets('postgres', ['--change-database'])).toBe('')
    expect(await databaseUrl()).toBe('postgres')
  })

  it('never changes its environment', async () => {
    expect(await createSecrets('postgres', [], 'prod')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('These volumes belong to dev, and this command is for prod'),
    })
  })

  it('makes the next secret known before it is used, and replaces it once at a time', async () => {
    const rotate = (step: string) => createSecrets('postgres', [step, 'jwt-secret'])
    const [former, none] = [await read('JWT_SECRET'), await read('JWT_SECRET_PREVIOUS')]
    expect(none).toBe('')
    await rotate('--introduce')
    const next = await read('JWT_SECRET_PREVIOUS')
    expect(await rotate('--introduce'), 'after an interruption').toBe('')
    expect([await read('JWT_SECRET'), await read('JWT_SECRET_PREVIOUS')]).toEqual([former, next])
    await rotate('--switch')
    expect([await read('JWT_SECRET'), await read('JWT_SECRET_PREVIOUS')]).toEqual([next, former])
    expect(await rotate('--introduce')).toMatchObject({ code: 3 })
    await rotate('--forget')
    expect([await read('JWT_SECRET'), await read('JWT_SECRET_PREVIOUS')]).toEqual([next, ''])
  })

  it('publishes a key before it signs, goes on with keys, and then has no JWT_SECRET', async () => {
    const rotate = (step: string, ...args: string[]) => createSecrets('postgres', [step, 'jwt-key', ...args])
    const names = ['JWT_ALGORITHM', ...['', '_NEXT', '_PREVIOUS'].map((end) => `JWT_PRIVATE_KEY${end}`)]
    const readAll = async () => Promise.all([...names, 'JWT_SECRET'].map(read))
    const secret = await read('JWT_SECRET')
    expect(await rotate('--switch')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('The next key does not exist; generate it first'),
    })
    await rotate('--introduce')
    const first = await read('JWT_PRIVATE_KEY_NEXT')
    expect(first).toMatch(/^-----BEGIN PRIVATE KEY-----\\n[^\n]{64}\\n-----END PRIVATE KEY-----$/)
    expect(await rotate('--introduce'), 'after an interruption').toBe('')
    expect(await readAll()).toEqual(['', '', first, '', secret])
    await rotate('--switch')
    expect(await rotate('--switch'), 'after an interruption').toBe('')
    expect(await readAll()).toEqual(['EdDSA', first, '', '', secret])
    await rotate('--forget')
    expect(await readAll()).toEqual(['EdDSA', first, '', '', ''])
    expect(await createSecrets('postgres'), 'the next up').toBe('')
    expect(await createSecrets('postgres', ['--introduce', 'jwt-secret'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('JWT_SECRET has ended; replace the key: jwt-key'),
    })
    await rotate('--introduce', '--kind', 'es256')
    const next = await read('JWT_PRIVATE_KEY_NEXT')
    await rotate('--switch')
    expect(await readAll()).toEqual(['ES256', next, '', first, ''])
    expect(await rotate('--introduce')).toMatchObject({ code: 3 })
    await rotate('--forget')
    expect(await readAll()).toEqual(['ES256', next, '', '', ''])
    await rotate('--introduce')
    await rotate('--abandon')
    expect(await readAll(), 'without the next one').toEqual(['ES256', next, '', '', ''])
  })

  it('repeats a killed switch of several files, and generates nothing for it', async () => {
    const rotate = (step: string) => createSecrets('postgres', [step, 'database-password'])
    const inKept = (script: string) => onVolume(['--entrypoint', 'sh'], '-ec', `cd /secrets/kept; ${script}`)
    await rotate('--introduce')
    await inKept(
      'mv database_password previous_database_password; mv next_database_password database_password',
    )
    expect(await rotate('--introduce')).toMatchObject({ code: 3 })
    expect(await inKept('ls')).not.toContain('next_database_password')
    expect(await rotate('--switch')).toBe('')
    expect(await inKept('ls')).not.toContain('next_')
  })

  it.each([
    { args: ['--introduce', 'jwt'], says: 'The secret jwt does not exist, only jwt-secret' },
    { args: ['--introduce', 'jwt-key', '--kind', 'rsa'], says: 'The kind of key rsa does not exist' },
    { args: ['--rotate'], says: "Unknown option '--rotate'" },
  ])('is not changed by $args, which end with 2', async ({ args, says }) => {
    const failure = await createSecrets('postgres', args)
    expect(failure).toMatchObject({ code: 2, stderr: expect.stringContaining(says) })
  })
})
