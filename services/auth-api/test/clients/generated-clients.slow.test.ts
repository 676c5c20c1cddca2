import { execFile } from 'node:child_process'
import { copyFile, cp, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { PAGES } from '@latchkey/account-pages/find-files.ts'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import openapiTypescript, { astToString } from 'openapi-typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { factorSettings } from '../support/factors.ts'
import { codeTo, startApp, type TestApp } from '../support/start-app.ts'
import type { Connect } from './api.ts'

const TSC = join(import.meta.dirname, '../../../../node_modules/typescript/bin/tsc')
const OPENAPI_FETCH = dirname(fileURLToPath(import.meta.resolve('openapi-fetch')))
const NEW_PASSWORD = 'an0ther-Horse!'

/** Compiler options of an application that is strict about types. */
const COMPILER_OPTIONS = {
  target: 'es2024',
  lib: ['es2024', 'dom', 'dom.iterable'],
  module: 'preserve',
  noEmit: true,
  allowImportingTsExtensions: true,
  strict: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: true,
  types: [],
}

let app: TestApp
let url: string
let folder: Awaited<ReturnType<typeof mkdtempDisposable>>
beforeAll(async () => {
  // With all that the account pages call.
  app = await startApp({
    settings: factorSettings({ SIGN_UP: 'on', ACCOUNT_DELETION: 'on', SESSIONS: 'on' }),
  })
  url = await app.server.listen({ host: '127.0.0.1', port: 0 })
  // Inside the project, where the client finds the library it imports; a dot hides it from every other tool.
  folder = await mkdtempDisposable(join(import.meta.dirname, '.generated-'))
  await generateClient()
})
afterAll(async () => {
  await folder.remove()
  await app[Symbol.asyncDispose]()
})

/** Writes the client, from the document that the running service serves. */
async function generateClient(): Promise<void> {
  const types = await openapiTypescript(new URL('/openapi.json', url))
  await writeFile(join(folder.path, 'openapi-typescript.ts'), astToString(types))
  const file = 'openapi-fetch.client.ts'
  await copyFile(join(import.meta.dirname, file), join(folder.path, file))
  await writeFile(
    join(folder.path, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: COMPILER_OPTIONS, files: [file] }),
  )
  await copyAccountPages(astToString(types))
}

/** Copies the account pages, whose scripts name the types of the client. */
async function copyAccountPages(types: string): Promise<void> {
  const account = join(folder.path, 'account')
  await cp(PAGES, account, { recursive: true })
  await writeFile(join(account, 'openapi.ts'), types)
  for (const extension of ['mjs', 'd.mts'])
    await copyFile(join(OPENAPI_FETCH, `index.${extension}`), join(account, `openapi-fetch.${extension}`))
  await writeFile(join(account, 'qr.d.ts'), "export * from 'qr'")
  const compilerOptions = { ...COMPILER_OPTIONS, allowJs: true, checkJs: true, strict: false }
  await writeFile(join(account, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['main.js'] }))
}

describe('a generated client', () => {
  it.each(['.', 'account'])('passes the type checker: %s', async (project) => {
    const args = [TSC, '--project', join(folder.path, project)]
    await promisify(execFile)(process.execPath, args).catch(({ stdout }) => {
      throw new Error(stdout)
    })
  })

  it('does all that an application needs', async () => {
    const { connect }: { connect: Connect } = await import(join(folder.path, 'openapi-fetch.client.ts'))
    const api = connect(url)
    const user = await aUser(app)
    expect(await api.describeRefusal(user.email)).toBe('The username or the password is wrong')
    const token = await api.logIn(user.email, PASSWORD)
    expect(await api.readProfile(token)).toMatchObject({ email: user.email, name: 'Ada' })
    expect(await api.rename(token, 'Grace')).toBe('Grace')
    await expect(api.refresh(token)).rejects.toThrow()

    const { lifetimeSeconds, refreshWindowSeconds } = app.config.tokens
    app.setClock(Date.now() + (lifetimeSeconds - refreshWindowSeconds + 5) * 1000)
    const refreshed = await api.refresh(token)
    expect(refreshed).not.toBe(token)
    await api.logOut(refreshed)
    await expect(api.readProfile(refreshed)).rejects.toThrow()

    const requested = await api.requestReset(user.email)
    const code = await codeTo(app, user.email)
    const confirmed = await api.confirmCode({ email: user.email, code, token: requested })
    await api.resetPassword({ email: user.email, token: confirmed, password: NEW_PASSWORD })
    await expect(api.logIn(user.email, PASSWORD)).rejects.toThrow()
    expect(await api.logIn(user.email, NEW_PASSWORD)).toBeTruthy()
    app.setClock(undefined)
  })
})
