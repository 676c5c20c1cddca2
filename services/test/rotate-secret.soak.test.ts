import { beforeAll, describe, expect, it } from 'vitest'
import { readSnippets } from '../../scripts/docs/snippets.ts'
import { builtServiceImages } from './servers/shared-server.ts'
import { startProject } from './support/compose-project.ts'
import { docker, imageOf, ROOT } from './support/images.ts'

beforeAll(builtServiceImages)

const CREDENTIALS = { username: 'user@example.com', password: '!P4ssw0rdstr!' }
/** The lines of the page, without its comment. */
const [rotate = '', restart = '', forget = '', restartAgain = ''] = readSnippets(
  ROOT,
  'docs/how-to/rotate-a-secret.md',
)
  .filter(({ plan }) => plan?.kind === 'run by')
  .flatMap(({ text }) => text.split('\n').filter((line) => line.startsWith('docker ')))

describe('rotating JWT_SECRET on one host', () => {
  it('logs no user out, and ends the old secret on request', async () => {
    const project = await startProject()
    const { get, inside, post, shell } = project
    const run = (line: string) => shell(line).catch((error: unknown) => error)
    const ping = (token: string) => get('/sampleprotected/ping', token)
    const secretNames = () =>
      inside('auth-api', "sed 's/=.*//' /run/secrets/credentials.env | grep JWT | paste -sd,")
    const { token: before } = await post('/login', CREDENTIALS)

    expect(await run(forget)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('JWT_SECRET_PREVIOUS does not exist'),
    })
    expect(await run(rotate)).toContain('JWT_SECRET is new')
    await shell(restart)
    expect(await secretNames()).toBe('JWT_SECRET,JWT_SECRET_PREVIOUS')
    const { token: after } = await post('/login', CREDENTIALS)
    expect([await ping(before), await ping(after)]).toEqual([200, 200])

    expect(await run(rotate), 'tokens of the first secret would become invalid').toMatchObject({
      code: 1,
      stderr: expect.stringContaining('in progress'),
    })
    expect([await ping(before), await ping(after)]).toEqual([200, 200])

    expect(await run(forget)).toContain('is removed')
    await shell(restartAgain)
    expect(await secretNames()).toBe('JWT_SECRET')
    expect([await ping(before), await ping(after)]).toEqual([401, 200])
  })

  it.each([
    { args: ['--rotate'], says: "Unknown option '--rotate'" },
    { args: ['--rotate-jwt-secret', '--forget-previous-jwt-secret'], says: 'two steps' },
  ])('refuses $args with 2', async ({ args, says }) => {
    const script = ['node', 'scripts/release/compose-secrets.ts', ...args]
    const started = docker('run', '--rm', '-e', 'DATABASE_ENGINE=postgres', imageOf('auth-api'), ...script)
    const failure: unknown = await started.catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: 2, stderr: expect.stringContaining(says) })
  })
})
