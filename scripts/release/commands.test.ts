import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { runMigrate } from './migrate-command.ts'
import { runSecret } from './secret-command.ts'

let stdout: string
let stderr: string
beforeEach(() => {
  stdout = stderr = ''
  // Nothing listens on port 1.
  vi.stubEnv('DATABASE_URL', 'postgres://a:hidden@127.0.0.1:1/x')
  const print = (text: unknown) => {
    stdout += text
    return true
  }
  vi.spyOn(process.stdout, 'write').mockImplementation(print)
  vi.spyOn(console, 'log').mockImplementation((line) => void print(`${line}\n`))
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    stderr += text
    return true
  })
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

it.each([
  { run: runSecret, args: [], code: 0, says: /^\S{88}\n$/ },
  { run: runSecret, args: ['32'], code: 0, says: /^\S{44}\n$/ },
  { run: runSecret, args: ['--key', 'ed25519'], code: 0, says: /^-----BEGIN PRIVATE KEY-----\n/ },
  {
    run: runSecret,
    args: ['--key', 'rsa'],
    code: 2,
    says: /^The kind of key "rsa" does not exist; use/,
  },
  { run: runSecret, args: ['--key', 'es256', '64'], code: 2, says: /^Give --key without a number/ },
  { run: runSecret, args: ['--key', 'es256', '--write', 'prod'], code: 2, says: /without --write\n/ },
  { run: runSecret, args: ['--help'], code: 0, says: /^Usage: npm run secret/ },
  { run: runSecret, args: ['0'], code: 2, says: /^bytes must be .*\n\nUsage: / },
  { run: runSecret, args: ['1', '2'], code: 2, says: /^Give one argument at most.*\n\nUsage: / },
  { run: runSecret, args: ['--nope'], code: 2, says: /^Unknown option '--nope'.*\n\nUsage: / },
  {
    run: runSecret,
    args: ['--write', '../x'],
    code: 2,
    says: /^The environment "\.\.\/x" does not exist/,
  },
  { run: runSecret, args: ['--write', 'dev', '32'], code: 2, says: /^bytes of JWT_SECRET must be/ },
  { run: runMigrate, args: ['--help'], code: 0, says: /^Usage: npm run migrate/ },
  { run: runMigrate, args: ['sideways'], code: 2, says: /^Usage: npm run migrate/ },
  { run: runMigrate, args: ['status', '--adopt'], code: 2, says: /^Usage: npm run migrate/ },
  { run: runMigrate, args: ['down', '--steps', '0'], code: 2, says: /^steps must be .*\n\nUsage: / },
  {
    run: runMigrate,
    args: ['status'],
    code: 1,
    says: /^The database at 127\.0\.0\.1:1 \(DATABASE_URL\) cannot be reached/,
  },
])('$run.name $args ends with $code', async ({ run, args, code, says }) => {
  expect(await run(args)).toBe(code)
  expect(code === 0 ? stdout : stderr).toMatch(says)
  expect(stdout + stderr).not.toContain('hidden')
})

it.each(['secret.ts', 'migrate.ts'])('%s is the command of npm run', async (script) => {
  const command = promisify(execFile)(process.execPath, [join(import.meta.dirname, script), '--nope'])
  await expect(command).rejects.toMatchObject({ stderr: expect.stringContaining("Unknown option '--nope'") })
})
