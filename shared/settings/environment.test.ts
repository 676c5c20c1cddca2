import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { findExtensions } from '../extensions/find-extensions.ts'
import { someExtensions } from '../extensions/test/extension-folders.ts'
import { loadConfig, loadEnvironment } from './environment.ts'
import { parseSettings } from './parse-settings.ts'
import { collectFaults, SettingsError } from './settings-error.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-environment-'))
})
afterAll(() => rm(folder, { recursive: true }))

describe('the environment of a service', () => {
  /** A folder with the files of one environment. */
  async function configWith(files: Record<string, string | Buffer>): Promise<string> {
    const configDir = await mkdtemp(join(folder, 'config-'))
    await mkdir(join(configDir, 'prod'))
    for (const [name, text] of Object.entries(files)) await writeFile(join(configDir, 'prod', name), text)
    return configDir
  }

  it('is that of config/dev where APP_ENV is not given', () => {
    expect(loadEnvironment({})).toMatchObject({ APP_ENV: 'dev', PASSWORD_HASH: expect.any(String) })
  })

  it('takes credentials.env over settings.env, and an empty variable as absent', async () => {
    const configDir = await configWith({
      'settings.env': 'PORT=1\nHOST=a\nLOG_LEVEL=warn\n',
      'credentials.env': 'HOST=b\nLOG_LEVEL=error\n',
    })
    expect(loadEnvironment({ APP_ENV: 'prod', PORT: '', LOG_LEVEL: 'debug' }, configDir, [])).toEqual({
      APP_ENV: 'prod',
      PORT: '1',
      HOST: 'b',
      LOG_LEVEL: 'debug',
    })
  })

  it.each([
    { what: 'a byte order mark', content: '\ufeffPORT=21085\nHOST=a\n' },
    { what: 'a byte order mark and line ends of Windows', content: '\ufeffPORT=21085\r\nHOST=a\r\n' },
  ])('loses no setting of a file with $what', async ({ content }) => {
    for (const file of ['settings.env', 'credentials.env']) {
      const configDir = await configWith({ [file]: content })
      expect(loadEnvironment({ APP_ENV: 'prod' }, configDir, [])).toEqual({
        APP_ENV: 'prod',
        PORT: '21085',
        HOST: 'a',
      })
    }
  })

  it.each([
    { what: 'UTF-16, as PowerShell writes it', content: Buffer.from('\ufeffPORT=21085\r\n', 'utf16le') },
    { what: 'Latin-1', content: Buffer.from('MAIL_SECRET=hunter\u00fc\n', 'latin1') },
  ])('refuses a file in $what', async ({ content }) => {
    const configDir = await configWith({ 'settings.env': content })
    const load = () => loadEnvironment({ APP_ENV: 'prod' }, configDir, [])
    expect(collectFaults(load)).toEqual(['config/prod/settings.env is not UTF-8 text. Save it as UTF-8.'])
  })

  it('refuses a file with carriage returns alone, of which only the first line would be read', async () => {
    const configDir = await configWith({ 'settings.env': 'PORT=1\rMAIL_SECRET=hunter2\r' })
    const load = () => loadEnvironment({ APP_ENV: 'prod' }, configDir, [])
    expect(collectFaults(load)).toEqual([
      'config/prod/settings.env has carriage returns alone between its lines. Save it with line feeds.',
    ])
  })

  it('has a misspelling in one of its files named with that file', async () => {
    const configDir = await configWith({ 'settings.env': 'TOKEN_LIFETME=1\n' })
    expect(() => loadEnvironment({ APP_ENV: 'prod' }, configDir, [])).toThrow(
      'TOKEN_LIFETME in config/prod/settings.env is not a setting.',
    )
  })

  it('is refused when a file is there and cannot be read', async () => {
    const configDir = await configWith({})
    await mkdir(join(configDir, 'prod', 'credentials.env'))
    expect(() => loadEnvironment({ APP_ENV: 'prod' }, configDir, [])).toThrow(
      'config/prod/credentials.env cannot be read (EISDIR).',
    )
  })

  it('may be a folder that is a symbolic link', async () => {
    const configDir = await configWith({ 'settings.env': 'PORT=1\n' })
    await symlink(join(configDir, 'prod'), join(configDir, 'staging'))
    expect(loadEnvironment({ APP_ENV: 'staging' }, configDir, [])).toMatchObject({ PORT: '1' })
  })

  it('is looked for below config/ only', () => {
    const load = () => loadEnvironment({ APP_ENV: '../prod', CREDENTIALS_FILE: join(folder, 'absent.env') })
    expect(collectFaults(load)).toEqual([expect.stringMatching(/^APP_ENV must be/)])
  })
})

describe('CREDENTIALS_FILE', () => {
  it('of another environment is refused before anything uses its secrets', async () => {
    const path = join(folder, 'prod.env')
    await writeFile(path, 'APP_ENV=prod\nLOG_LEVEL=warn\n')
    expect(() => loadEnvironment({ APP_ENV: 'dev', CREDENTIALS_FILE: path })).toThrow(
      'APP_ENV is dev, and the secrets in CREDENTIALS_FILE belong to prod. Set APP_ENV=prod.',
    )
    expect(loadEnvironment({ CREDENTIALS_FILE: path })).toMatchObject({ APP_ENV: 'prod', LOG_LEVEL: 'warn' })
  })

  it('is read over the files of config/, under the process environment', async () => {
    const path = join(folder, 'mounted.env')
    await writeFile(path, 'PASSWORD_HASH=sha1\nMAIL_SECRET=a+b/c==\nLOG_LEVEL=warn\n')
    const environment = loadEnvironment({ APP_ENV: 'prod', CREDENTIALS_FILE: path, LOG_LEVEL: 'error' })
    expect(environment).toMatchObject({ PASSWORD_HASH: 'sha1', MAIL_SECRET: 'a+b/c==', LOG_LEVEL: 'error' })
  })

  it('is a fault when it cannot be read', () => {
    const read = () => loadEnvironment({ APP_ENV: 'prod', CREDENTIALS_FILE: join(folder, 'absent.env') })
    expect(read).toThrow(SettingsError)
    expect(read).toThrow(/CREDENTIALS_FILE cannot be read \(ENOENT\)/)
  })
})

describe('a name that no setting has', () => {
  const load = async (text: string) => {
    const path = join(folder, 'misspelt.env')
    await writeFile(path, text)
    return () => loadEnvironment({ APP_ENV: 'prod', CREDENTIALS_FILE: path })
  }

  it('is refused in a file where it is no longer one, and says what became of it', async () => {
    expect(await load('SESSIONS=off\n')).toThrow(
      'SESSIONS in CREDENTIALS_FILE is no longer a setting: every session is listed by /sessions now. Remove the line.',
    )
  })

  it.each([
    ['TOKEN_LIFETME', 'TOKEN_LIFETIME'],
    ['CORS_ORIGIN', 'CORS_ORIGINS'],
    ['LOGLEVEL', 'LOG_LEVEL'],
    ['MAIL_FORM', 'MAIL_FROM'],
    ['JWT_SECRETS', 'JWT_SECRET'],
    ['HASH_QUEUR', 'HASH_QUEUE'],
    ['TOKKEN_LIFETIME', 'TOKEN_LIFETIME'],
  ])('is refused in a file where it is a misspelling: %s', async (name, meant) => {
    const read = await load(`${name}=hunter2\n`)
    expect(read).toThrow(`${name} in CREDENTIALS_FILE is not a setting. Did you mean ${meant}?`)
    expect(read).not.toThrow(/hunter2/)
  })

  it('is left alone otherwise, since a mounted file may serve other programs too', async () => {
    const read = await load('DATABASE_PORT=5432\nPOSTGRES_PASSWORD=x\nHOSTS=y\nOTEL_SERVICE_NAME=z\n')
    expect(read()).toMatchObject({ DATABASE_PORT: '5432' })
  })

  it('is left alone in the process environment', () => {
    expect(loadEnvironment({ APP_ENV: 'prod', TOKEN_LIFETME: '1' })).toMatchObject({ TOKEN_LIFETME: '1' })
  })
})

describe('an environment without a folder', () => {
  it.each(['production', 'nowhere'])('is refused, with those that have one: %s', (APP_ENV) => {
    expect(() => loadEnvironment({ APP_ENV })).toThrow(
      `APP_ENV is ${APP_ENV}, and the folder config/${APP_ENV} does not exist. Set it to one of dev, prod, staging, test.`,
    )
  })

  it('is the only fault, since the others are those of its files', async () => {
    const loading = loadConfig((environment) => parseSettings(['MAIL_URL'], environment), { APP_ENV: 'DEV' })
    await expect(loading).rejects.toMatchObject({ faults: [expect.stringMatching(/^APP_ENV must be/)] })
  })
})

describe('config/<env>/settings.env of an extension', () => {
  const load = async (text: string, processEnvironment: NodeJS.ProcessEnv = {}) => {
    const root = await someExtensions({
      'my-notes/extension.ts': '',
      'my-notes/config/prod/settings.env': text,
    })
    onTestFinished(() => root.remove())
    const environment = { APP_ENV: 'prod', ...processEnvironment }
    return () => loadEnvironment(environment, undefined, findExtensions(root.path))
  }

  it('is read under every other source', async () => {
    const read = await load('MY_NOTES_A=1\nMY_NOTES_B=2\n', { MY_NOTES_B: '3' })
    expect(read()).toMatchObject({ MY_NOTES_A: '1', MY_NOTES_B: '3' })
  })

  it('is a fault when it is there and cannot be read', async () => {
    const root = await someExtensions({
      'my-notes/extension.ts': '',
      'my-notes/config/prod/settings.env/a-file': '',
    })
    onTestFinished(() => root.remove())
    expect(() => loadEnvironment({ APP_ENV: 'prod' }, undefined, findExtensions(root.path))).toThrow(
      'extensions/my-notes/config/prod/settings.env cannot be read (EISDIR).',
    )
  })

  it('need not be there', async () => {
    const root = await someExtensions({ 'my-notes/extension.ts': '' })
    onTestFinished(() => root.remove())
    expect(loadEnvironment({ APP_ENV: 'prod' }, undefined, findExtensions(root.path))).toMatchObject({
      APP_ENV: 'prod',
    })
  })

  it('cannot set what is not its own', async () => {
    expect(await load('MY_NOTES_A=1\nLOG_LEVEL=trace\n')).toThrow(
      'LOG_LEVEL in extensions/my-notes/config/prod/settings.env does not begin with MY_NOTES_.',
    )
  })
})

describe('loadConfig', () => {
  it('reports the faults of the files and of the settings in one list', async () => {
    const loading = loadConfig((environment) => parseSettings(['PORT'], environment), {
      APP_ENV: 'prod',
      CREDENTIALS_FILE: join(folder, 'absent.env'),
      PORT: 'x',
    })
    await expect(loading).rejects.toMatchObject({
      faults: ['CREDENTIALS_FILE cannot be read (ENOENT).', expect.stringMatching(/^PORT must be/)],
    })
  })

  it('reports the faults of the files where the settings have none', async () => {
    const loading = loadConfig(() => 'a config', {
      APP_ENV: 'prod',
      CREDENTIALS_FILE: join(folder, 'absent.env'),
    })
    await expect(loading).rejects.toMatchObject({ faults: ['CREDENTIALS_FILE cannot be read (ENOENT).'] })
  })

  it('gives the config and the environment that it is of', async () => {
    const loading = loadConfig(({ PORT }) => `port ${PORT}`, { APP_ENV: 'prod', PORT: '7' })
    await expect(loading).resolves.toMatchObject({ config: 'port 7', environment: { PORT: '7' } })
  })

  it('passes on an error that is not a fault of the settings', async () => {
    const broken = new TypeError('external.ts is broken')
    await expect(loadConfig(() => Promise.reject(broken), { APP_ENV: 'prod' })).rejects.toBe(broken)
  })
})
