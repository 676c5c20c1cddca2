import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { startService } from '../../../scripts/local/service-process.ts'
import { createEmptyDatabase } from '../../test/support/test-database.ts'
import { linkPackages } from './support/link-packages.ts'
import { aUser, bearer, PASSWORD } from './support/start-app.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
/** The migration before which the older replica was released; it reads none of its tables. */
const FIRST_UNKNOWN = 'migrations/postgres/0006_token_revocation.up.sql'
const run = promisify(execFile)
const Login = z.object({ token: z.string() })

const commit = await findCommitBefore(FIRST_UNKNOWN)

// A shallow clone does not have the older version.
it.skipIf(commit === undefined)(
  'runs beside a replica that knows none of the newest migrations',
  async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-older-'))
    await run('sh', ['-ec', `git archive ${commit} | tar -x -C '${folder.path}'`], { cwd: ROOT })
    await linkPackages(folder.path)
    await addPackage(
      join(folder.path, 'services/auth-api/src/node_modules/@fastify/swagger-ui'),
      EMPTY_PLUGIN,
    )
    await addPackage(join(folder.path, 'shared/passwords/node_modules/piscina'), HASHING_HERE)
    await using database = await createEmptyDatabase('postgres')
    const env = anEnvironment(database.url)
    await run(process.execPath, ['scripts/migrate.ts'], { cwd: folder.path, env })
    const user = await aUser({ users: createUserRepository(database.db) })

    await using older = await startReplica(folder.path, env)
    const tokens = [await older.logIn(user.email)]
    const load = older.loadUntilStopped(user.email, tokens[0] ?? '')
    await run(process.execPath, ['scripts/release/migrate.ts'], { cwd: ROOT, env })
    await using newer = await startReplica(ROOT, env)
    tokens.push(await newer.logIn(user.email))

    for (const replica of [older, newer])
      for (const token of tokens) expect(await replica.statusesOf(user.email, token)).toEqual(EXPECTED)
    expect(await load.stop()).toEqual(new Set([200]))
  },
)

/** A profile, a change of it, a refresh that is too early, a request for a reset. */
const EXPECTED = [200, 200, 401, 200]

async function findCommitBefore(path: string): Promise<string | undefined> {
  const log = ['log', '--diff-filter=A', '--format=%H', '--', path]
  const { stdout } = await run('git', log, { cwd: ROOT }).catch(() => ({ stdout: '' }))
  const added = stdout.trim()
  const parent = ['rev-parse', '--verify', '--quiet', `${added}^`]
  return run('git', parent, { cwd: ROOT }).then(
    (found) => found.stdout.trim(),
    () => undefined,
  )
}

/** In place of the package of `/docs`. */
const EMPTY_PLUGIN = 'export default async () => {}'

/** In place of the package of the hashing threads: the same work, on the spot. */
const HASHING_HERE = `
  import { pathToFileURL } from 'node:url'
  export class Piscina {
    constructor({ filename }) {
      this.thread = import(pathToFileURL(filename))
    }
    async run(task) {
      return (await this.thread).default(task)
    }
    async close() {}
  }`

/** Adds a package that the older version needs and this one does not have. */
async function addPackage(path: string, code: string): Promise<void> {
  await mkdir(path, { recursive: true })
  await writeFile(join(path, 'package.json'), '{ "type": "module", "exports": "./index.js" }')
  await writeFile(join(path, 'index.js'), code)
}

function anEnvironment(databaseUrl: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    APP_ENV: 'test',
    API_SERVER: 'http://localhost',
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: '0',
    DATABASE_URL: databaseUrl,
    JWT_SECRET: randomBytes(64).toString('base64'),
    MAIL_SECRET: randomBytes(32).toString('base64'),
    LOG_LEVEL: 'error',
    RATE_LIMIT_REQUESTS: '0',
    RATE_LIMIT_LOGIN: '0',
    RATE_LIMIT_RESET: '0',
  }
}

async function startReplica(root: string, env: NodeJS.ProcessEnv) {
  const api = startService('auth-api', join(root, 'services/auth-api/src/main.ts'), env)
  const { address = '' } = await api.ready
  const request = (method: string, path: string, token: string, body?: object) =>
    fetch(`${address}${path}`, {
      method,
      headers: { ...bearer(token), ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
  const logIn = (username: string) => request('POST', '/login', '', { username, password: PASSWORD })
  return {
    logIn: async (username: string) => Login.parse(await (await logIn(username)).json()).token,
    async statusesOf(email: string, token: string): Promise<number[]> {
      const responses = [
        await request('GET', '/profile', token),
        await request('PUT', '/profile', token, { name: 'Ada' }),
        await request('POST', '/refreshtoken', token),
        await request('POST', '/login/resetrequest', token, { email }),
      ]
      return responses.map(({ status }) => status)
    },
    /** Sends one request after the other; `stop` resolves with their statuses. */
    loadUntilStopped(email: string, token: string) {
      const stopping = new AbortController()
      const statuses = new Set<number>()
      const sending = (async () => {
        while (!stopping.signal.aborted) {
          statuses.add((await request('GET', '/profile', token)).status)
          statuses.add((await logIn(email)).status)
        }
      })()
      return {
        async stop() {
          stopping.abort()
          await sending
          return statuses
        },
      }
    },
    [Symbol.asyncDispose]: () => api.stop(),
  }
}
