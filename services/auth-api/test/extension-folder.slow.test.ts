import { execFile } from 'node:child_process'
import { hash, randomBytes } from 'node:crypto'
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { SHIPPED_EXTENSION } from '@latchkey/shared/extensions/find-extensions.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { addressOf, startAuthApiProcess } from '@latchkey/test-support/auth-api-process.ts'
import { isPostgres } from '@latchkey/test-support/engine.ts'
import { listFiles } from '@latchkey/test-support/list-files.ts'
import { createEmptyDatabase } from '@latchkey/test-support/test-database.ts'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { readSnippets } from '../../../scripts/docs/snippets.ts'
import { linkPackages } from './support/link-packages.ts'
import { bearer } from './support/start-app.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const run = promisify(execFile)

it('an extension is a folder, which no new version of Latchkey changes: it works without another change', async () => {
  await using clone = await aClone()
  const { node } = clone
  await followPage('docs/tutorial/your-own-endpoint.md', clone.path)
  await writeTo(clone.path, 'extensions/notes/config/test/settings.env', 'NOTES_MAX_LENGTH=8\n')
  await node('scripts/docs/write-pages.ts')
  expect(
    clone.changes().filter((file) => !file.startsWith('extensions/notes/')),
    'the reference of Latchkey has no extension of a team',
  ).toEqual([])

  await using database = await createEmptyDatabase()
  const environment = anEnvironment(database.url)
  await node('scripts/release/migrate.ts', environment)
  const user = await aUser({ users: createUserRepository(database.db) })
  expect(await addNotes(clone.path, environment, user.email, ['Milk', 'too long a text'])).toEqual(['Milk'])
})

/** A folder with the files of this checkout, and the packages that are installed here. */
async function aClone() {
  const path = await createFolder()
  const copied = listFiles(ROOT).filter(isLatchkeys)
  copyFiles(copied, path)
  await linkPackages(path)
  const hasChanged = (file: string) =>
    !copied.includes(file) || !readFileSync(join(path, file)).equals(readFileSync(join(ROOT, file)))
  return {
    path,
    /** The files that were changed or added since. */
    changes: () => listFiles(path).filter(hasChanged),
    node: async (script: string, env: NodeJS.ProcessEnv = {}) =>
      (await run(process.execPath, [script], { cwd: path, env: { ...process.env, ...env } })).stdout,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  }
}

/**
 * The same one in each run, so that Node finds what it has compiled at this path; another one while that exists. It
 * belongs to this checkout, of which the clone is a copy.
 */
async function createFolder(): Promise<string> {
  const usual = join(tmpdir(), `latchkey-extension-${hash('sha1', ROOT).slice(0, 8)}`)
  const created = await mkdir(usual, { mode: 0o700 }).then(
    () => usual,
    () => undefined,
  )
  return created ?? mkdtemp(`${usual}-`)
}

/** Copies files synchronously: for a thousand small files the asynchronous functions take ten times as long. */
function copyFiles(files: readonly string[], root: string): void {
  for (const folder of new Set(files.map((file) => dirname(file))))
    mkdirSync(join(root, folder), { recursive: true })
  for (const file of files) copyFileSync(join(ROOT, file), join(root, file))
}

/** True where a file is Latchkey's: it exists, and belongs to no other extension of this checkout. */
const isLatchkeys = (file: string): boolean =>
  !file.startsWith('extensions/') || file.startsWith(`extensions/${SHIPPED_EXTENSION}/`)

/** Creates each file for which a page has the text. */
async function followPage(page: string, root: string): Promise<void> {
  const files = readSnippets(ROOT, page).filter(({ plan }) => plan?.kind === 'write')
  expect(files.length).toBeGreaterThan(10)
  for (const { plan, text } of files) if (plan?.kind === 'write') await writeTo(root, plan.path, text)
}

async function writeTo(root: string, path: string, content: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), content)
}

function anEnvironment(databaseUrl: string): Record<string, string> {
  expect(isPostgres(), 'the database keeps the queue too').toBe(true)
  return {
    APP_ENV: 'test',
    API_SERVER: 'http://localhost',
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: '0',
    DATABASE_URL: databaseUrl,
    JWT_SECRET: randomBytes(64).toString('base64'),
    MAIL_SECRET: randomBytes(32).toString('base64'),
    LOG_LEVEL: 'error',
  }
}

const Login = z.object({ token: z.string() })
const Notes = z.object({ notes: z.array(z.object({ text: z.string() })) })

/** Starts the auth-api of `root`, posts notes as a user, and returns the texts of those that are stored. */
async function addNotes(root: string, environment: Record<string, string>, email: string, texts: string[]) {
  await using api = startAuthApiProcess(environment, [], join(root, 'services/auth-api/src/main.ts'))
  const address = await addressOf(api)
  const post = (path: string, body: object, headers = {}) => {
    const type = { 'content-type': 'application/json' }
    return fetch(address + path, {
      method: 'POST',
      headers: { ...type, ...headers },
      body: JSON.stringify(body),
    })
  }
  const login = await post('/login', { username: email, password: PASSWORD })
  const headers = bearer(Login.parse(await login.json()).token)
  for (const text of texts) await post('/notes', { text }, headers)
  const { notes } = Notes.parse(await (await fetch(`${address}/notes`, { headers })).json())
  return notes.map(({ text }) => text)
}
