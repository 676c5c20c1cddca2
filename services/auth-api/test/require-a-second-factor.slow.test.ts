import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { DEMO_PASSWORD } from '@latchkey/shared/users/demo-users.ts'
import { decodeJwt } from 'jose'
import { expect, it } from 'vitest'
import { readSnippets } from '../../../scripts/docs/snippets.ts'
import { factorSettings } from './support/factors.ts'
import { startApp } from './support/start-app.ts'

const ROOT = join(import.meta.dirname, '../../..')
const SNIPPETS = readSnippets(ROOT, 'docs/how-to/require-a-second-factor.md').filter(
  ({ plan }) => plan?.kind === 'run by',
)
/** Instead of the user who waits, the clocks go on: that of the service, and that of the app on the page. */
const SLEEP = 'sleep() { echo $(( $(cat "$OFFSET") + $1 * 1000 )) > "$OFFSET"; }'

it('takes a user of the page from a password to a second factor, a login by it and a raised token', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-factor-'))
  const [offset, clock] = [join(folder.path, 'offset'), join(folder.path, 'clock.cjs')]
  await writeFile(offset, '0')
  const shifted = `const { now } = Date; Date.now = () => now() + Number(require('node:fs').readFileSync('${offset}', 'utf8'))`
  await writeFile(clock, shifted)
  const time = {
    get now() {
      return Date.now() + Number(readFileSync(offset, 'utf8'))
    },
    elapsed: 0,
  }
  await using app = await startApp({ settings: factorSettings(), time })
  await app.users.insert({
    username: 'user',
    email: 'user@example.com',
    passwordHash: await app.passwords.hash(DEMO_PASSWORD, { address: '127.0.0.1', trust: 'known' }),
  })
  const api = await app.server.listen({ host: '127.0.0.1', port: 0 })
  expect(SNIPPETS).toHaveLength(5)
  const script = SNIPPETS.map(({ text }) => text)
    .join('\n')
    .replace('http://localhost:8080', api)
  const { stdout } = await promisify(execFile)('bash', ['-ec', `${SLEEP}\n${script}\necho; echo "$TOKEN"`], {
    cwd: ROOT,
    env: { ...process.env, OFFSET: offset, NODE_OPTIONS: `--require=${clock}` },
  })
  const lines = stdout.trim().split('\n')
  expect(Buffer.from(lines[0] ?? '', 'base64')).toHaveLength(32)
  expect(stdout).toMatch(/"recovery_codes":\["\w{4}-\w{4}-\w{4}"/)
  expect(decodeJwt(lines.at(-1) ?? '')).toMatchObject({
    amr: ['pwd', 'otp', 'mfa'],
    auth_time: expect.closeTo(Date.now() / 1000 + 60, -2),
  })
}, 60_000)
