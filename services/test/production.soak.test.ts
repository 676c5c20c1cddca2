import { startProject } from '@latchkey/test-support/compose-project.ts'
import { ROOT } from '@latchkey/test-support/images.ts'
import { openMailbox } from '@latchkey/test-support/mailbox.ts'
import { builtScriptifyImage } from '@latchkey/test-support/servers/shared-server.ts'
import { describe, expect, it } from 'vitest'
import { readSnippets } from '../../scripts/docs/snippets.ts'

/** The compose file by which a container reaches the mailbox of the test. */
const EXTRA_HOST = '../test-support/faults.compose.yml'

/** The block of the page, with a mail server that exists. */
function productionCommands(mailUrl: string): string {
  const page = readSnippets(ROOT, 'docs/how-to/run-on-one-host.md')
  const block = page.find(({ plan }) => plan?.kind === 'run by')?.text ?? ''
  return block
    .replace('docker-compose.prod.yml', `docker-compose.prod.yml:${EXTRA_HOST}`)
    .replace(/(\.\/\S* mail-url).*/, `printf '%s' '${mailUrl}' | $1`)
}

describe('one host in production', () => {
  it('has no demo user and no inbox, and sends mail as configured', async () => {
    await using mailbox = await openMailbox('0.0.0.0')
    const mailUrl = `smtp://host.docker.internal:${mailbox.port}`
    const project = await startProject({
      files: ['docker-compose.prod.yml', EXTRA_HOST],
      environment: {
        API_SERVER: 'https://login.example.com',
        MAIL_FROM: 'Example <no-reply@example.com>',
        RATE_LIMIT_LOGIN: '2',
      },
      mailUrl,
    })
    const { api, compose, inside, post, shell } = project
    expect((await compose('ps', '--services')).split('\n').sort()).toEqual([
      'auth-api',
      'mailer-worker',
      'postgres',
      'redis',
    ])
    expect(await inside('postgres', 'psql -U latchkey -tAc "select count(*) from users"')).toBe('0')

    await inside(
      'postgres',
      `psql -U latchkey -c "insert into users (name, email, username, password) values ('Grace', 'grace@example.org', 'grace', 'x')"`,
    )
    expect((await post('/login/resetrequest', { email: 'grace@example.org' })).status).toBe(200)
    await expect.poll(() => mailbox.to('grace@example.org').length, { timeout: 30_000 }).toBe(1)
    const [mail] = mailbox.mails
    expect(mail?.from).toMatchObject({ name: 'Example', address: 'no-reply@example.com' })
    expect(mail?.subject).not.toContain('[')

    // As a TLS proxy in front of it would: each client has its own limit.
    const logInFrom = async (client: string, index: number) => {
      const response = await fetch(`${api}/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': client },
        body: JSON.stringify({ username: `nobody${index}@example.org`, password: 'wrong' }),
      })
      return response.status
    }
    const statuses: number[] = []
    for (const index of [1, 2, 3]) statuses.push(await logInFrom('198.51.100.1', index))
    expect(statuses).toEqual([401, 401, 429])
    expect(await logInFrom('198.51.100.2', 4)).toBe(401)
    expect(await compose('logs', 'auth-api')).not.toContain('TRUST_PROXY')

    // Another container is no proxy: what it claims to be has no effect.
    await builtScriptifyImage()
    const guess = `'for client in 1 2 3; do scriptify endpoint POST http://auth-api:8080/login --header "X-Forwarded-For: 203.0.113.$client" --body "{\\"username\\":\\"n$client@example.org\\",\\"password\\":\\"wrong\\"}" 2>&1 || true; done'`
    const guesses = await shell(`docker compose run --rm -T --no-deps --entrypoint sh scriptify -c ${guess}`)
    expect(guesses.match(/(?<=HTTP )\d+/g)).toEqual(['401', '401', '429'])

    expect(await shell(productionCommands(mailUrl))).toContain('Created ada ')
  })

  it.each(['API_SERVER', 'MAIL_FROM'])('is refused without %s', async (name) => {
    const given = { API_SERVER: 'https://login.example.com', MAIL_FROM: 'a@example.com' }
    const starting = startProject({
      files: ['docker-compose.prod.yml'],
      environment: { ...given, [name]: '' },
    })
    await expect(starting).rejects.toMatchObject({ stderr: expect.stringContaining(`${name} is missing`) })
  })
})
