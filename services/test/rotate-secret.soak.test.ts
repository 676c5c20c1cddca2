import { join } from 'node:path'
import { addUser, CREDENTIALS, openProxy, proxyEnvironment } from '@latchkey/test-support/behind-proxy.ts'
import { type ComposeProject, startProject } from '@latchkey/test-support/compose-project.ts'
import { DEPLOY, ROOT, run } from '@latchkey/test-support/images.ts'
import { keepLoggingIn } from '@latchkey/test-support/keep-logging-in.ts'
import { openMailbox } from '@latchkey/test-support/mailbox.ts'
import { decodeProtectedHeader } from 'jose'
import { expect, it } from 'vitest'
import { readSnippets } from '../../scripts/docs/snippets.ts'

/** The commands of the page, and those of them that sign with a key. */
const ALL_COMMANDS = readSnippets(ROOT, 'docs/how-to/rotate-a-secret.md')
  .filter(({ plan }) => plan?.kind === 'run by')
  .flatMap(({ text }) => text.split('\n').filter((line) => line.startsWith('./')))
const isOfKey = (line: string) => line.includes('jwt-key')
const [COMMANDS, KEY_COMMANDS] = [ALL_COMMANDS.filter((line) => !isOfKey(line)), ALL_COMMANDS.filter(isOfKey)]
const FILES = ['docker-compose.prod.yml', '../test-support/faults.compose.yml']

/** One host in production behind the proxy, with a load of logins and of resets. */
async function startLoaded(database: 'postgres' | 'mysql', mailUrl: string) {
  const proxy = await proxyEnvironment(database)
  // The load is one address and one user.
  const limits = { RATE_LIMIT_LOGIN: '0', RATE_LIMIT_RESET: '0', RATE_LIMIT_REQUESTS: '0' }
  const environment = { ...proxy, ...limits, MAIL_FROM: 'no-reply@example.com' }
  const project = await startProject({ files: FILES, environment, mailUrl })
  await addUser(project, database)
  const post = await openProxy(project, proxy)
  await expect.poll(() => post('/login', CREDENTIALS)).toBe(200)
  const logins = keepLoggingIn(() => post('/login', CREDENTIALS))
  const resets = keepLoggingIn(() => post('/login/resetrequest', { email: CREDENTIALS.username }))
  return { project, logins, resets }
}

const secretsOf = ({ inside }: ComposeProject, service: string) =>
  inside(service, 'cat /run/secrets/credentials.env')
const read = (settings: string, name: string) =>
  new RegExp(`^${name}='?(.*?)'?$`, 'm').exec(settings)?.[1] ?? ''

it('replaces every secret under load without losing a login, a mail or a session, and ends the former ones', async () => {
  await using mailbox = await openMailbox('0.0.0.0')
  const url = (password: string) => `smtp://host.docker.internal:${mailbox.port}?name=${password}`
  const { project, logins, resets } = await startLoaded('postgres', url('former'))
  const { get, inside, post, shell } = project
  const [api, worker] = [await secretsOf(project, 'auth-api'), await secretsOf(project, 'mailer-worker')]
  const { token } = await post('/login', CREDENTIALS)
  expect(COMMANDS).toHaveLength(10)

  for (const command of COMMANDS.filter((line) => !line.includes('--')))
    console.log(await shell(command.replace(/(.*) < mail-url.*/, `printf '%s' '${url('new')}' | $1`)))
  expect(await get('/sampleprotected/ping', token)).toBe(200)
  await expect(shell('./rotate-secret.sh jwt-secret')).rejects.toThrow('A rotation is in progress')
  for (const command of COMMANDS.filter((line) => line.includes('--forget'))) await shell(command)
  expect(await get('/sampleprotected/ping', token)).toBe(401)
  await Promise.all([logins.stop(), resets.stop()])

  const lost = (client: typeof logins) => client.attempts.filter(({ isAnswered }) => !isAnswered)
  expect([lost(logins), lost(resets)]).toEqual([[], []])
  await expect
    .poll(() => mailbox.to(CREDENTIALS.username).length, { timeout: 60_000 })
    .toBe(resets.attempts.length)
  console.log(`${logins.attempts.length} logins and ${resets.attempts.length} mails, none lost`)

  const ofApi = await secretsOf(project, 'auth-api')
  const ofWorker = await secretsOf(project, 'mailer-worker')
  for (const name of ['JWT_SECRET', 'MAIL_SECRET', 'FACTOR_SECRET', 'DATABASE_URL', 'QUEUE_URL'])
    expect(read(ofApi, name), name).not.toBe(read(api, name))
  for (const name of ['MAIL_SECRET', 'DATABASE_URL', 'QUEUE_URL', 'MAIL_URL'])
    expect(read(ofWorker, name), name).not.toBe(read(worker, name))
  expect(ofApi + ofWorker).not.toContain('_PREVIOUS')

  const logIn = (given: string) => inside('postgres', `psql '${read(given, 'DATABASE_URL')}' -tAc 'select 1'`)
  expect(await logIn(ofApi)).toBe('1')
  for (const former of [api, worker]) await expect(logIn(former)).rejects.toThrow('authentication failed')
  const ping = (given: string) =>
    inside('redis', `redis-cli -u '${read(given, 'QUEUE_URL').replace('//:', '//default:')}' ping 2>&1`)
  expect(await ping(ofApi)).toContain('PONG')
  expect(await ping(api)).toContain('WRONGPASS')
  // Sixteen restarts, each of which drains for five seconds.
}, 1_200_000)

it('goes from JWT_SECRET to a key under load, and logs nobody out until JWT_SECRET ends', async () => {
  await using mailbox = await openMailbox('0.0.0.0')
  const { project, logins } = await startLoaded('postgres', `smtp://host.docker.internal:${mailbox.port}`)
  const { get, post, shell } = project
  const { token: former } = await post('/login', CREDENTIALS)
  const [publish, use, end] = KEY_COMMANDS.map((line) => line.replace(/ +#.*/, ''))
  if (!publish || !use || !end) throw new Error('The page has other commands')
  const accepted = async (...tokens: string[]) =>
    Promise.all(tokens.map((token) => get('/sampleprotected/ping', token)))

  await expect(shell(use)).rejects.toThrow('The next key does not exist')
  console.log(await shell(publish), await shell(use))
  const { token } = await post('/login', CREDENTIALS)
  expect(decodeProtectedHeader(token)).toMatchObject({ alg: 'EdDSA' })
  expect(await accepted(former, token)).toEqual([200, 200])
  await shell(end)
  expect(await accepted(former, token)).toEqual([401, 200])
  await logins.stop()
  expect(logins.attempts.filter(({ isAnswered }) => !isAnswered)).toEqual([])
  await shell(publish)
  const stolen = read(await secretsOf(project, 'auth-api'), 'JWT_PRIVATE_KEY_NEXT')
  expect(stolen).toMatch(/^-----BEGIN/)
  await shell('./rotate-secret.sh jwt-key --end-all-tokens')
  expect(await secretsOf(project, 'auth-api')).not.toContain(stolen)
  expect(await accepted(token)).toEqual([401])
  expect((await post('/login', CREDENTIALS)).status).toBe(200)
}, 1_200_000)

it('replaces the logins of MySQL under load, also after an interruption', async () => {
  await using mailbox = await openMailbox('0.0.0.0')
  const { project, logins } = await startLoaded('mysql', `smtp://host.docker.internal:${mailbox.port}`)
  const { inside, shell } = project
  const rotate = './rotate-secret.sh database-password'
  const root = 'MYSQL_PWD=$(cat /run/secrets/password) mysql -uroot --skip-column-names -e'
  const users = () =>
    inside('mysql', `${root} "select user from mysql.user where user like 'latchkey%' order by 1"`)
  const before = await users()
  // The first one ends after the owner has the next password, and before a service has its next login.
  await shell(`timeout 6 ${rotate}`).catch(() => undefined)
  // A process that the first one has started may hold its lock a little longer.
  await expect.poll(() => shell(rotate).then(() => 'ended', String), { timeout: 120_000 }).toBe('ended')
  const after = await users()
  expect(after.split('\n')).toHaveLength(2)
  for (const user of before.split('\n')) expect(after).not.toContain(user)
  await logins.stop()
  expect(logins.attempts.filter(({ isAnswered }) => !isAnswered)).toEqual([])
})

it('ends all tokens on request, also those of a rotation that is not finished', async () => {
  const { get, post, shell } = await startProject()
  const credentials = { username: 'user@example.com', password: '!P4ssw0rdstr!' }
  await shell('./rotate-secret.sh jwt-secret')
  const { token } = await post('/login', credentials)
  await shell('./rotate-secret.sh jwt-secret --end-all-tokens')
  expect(await get('/sampleprotected/ping', token)).toBe(401)
  expect((await post('/login', credentials)).status).toBe(200)
})

it.each([
  { args: [], code: 2 },
  { args: ['jwt'], code: 2 },
  { args: ['redis-password', '--forget'], code: 2 },
  { args: ['jwt-secret', '--switch'], code: 2 },
  { args: ['jwt-key', '--es512'], code: 2 },
  { args: ['--help'], code: 0 },
])('ends with $code for $args', async ({ args, code }) => {
  const ended = await run(join(DEPLOY, 'rotate-secret.sh'), args).then(
    () => ({ code: 0 }),
    (error: unknown) => error,
  )
  expect(ended).toMatchObject({ code })
})
