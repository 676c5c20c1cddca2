import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadEnvironment } from './environment.ts'
import { SettingsError } from './parse-settings.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-environment-'))
})
afterAll(() => rm(folder, { recursive: true }))

describe('CREDENTIALS_FILE', () => {
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
