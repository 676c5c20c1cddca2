import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'

/** Runs a script to its end. Nothing listens on port 1. */
function run(script: string, args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { ...process.env, APP_ENV: 'test', DATABASE_URL: 'postgres://a:hidden@127.0.0.1:1/x' }
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [join(import.meta.dirname, script), ...args],
      { env },
      (error, stdout, stderr) => resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    )
  })
}

it.each([
  { script: 'secret.ts', args: [], code: 0, says: /^\S{88}\n$/ },
  { script: 'secret.ts', args: ['32'], code: 0, says: /^\S{44}\n$/ },
  { script: 'secret.ts', args: ['--key', 'ed25519'], code: 0, says: /^-----BEGIN PRIVATE KEY-----\n/ },
  {
    script: 'secret.ts',
    args: ['--key', 'rsa'],
    code: 2,
    says: /^The kind of key "rsa" does not exist; use/,
  },
  { script: 'secret.ts', args: ['--key', 'es256', '64'], code: 2, says: /^Give --key without a number/ },
  { script: 'secret.ts', args: ['--key', 'es256', '--write', 'prod'], code: 2, says: /without --write\n/ },
  { script: 'secret.ts', args: ['--help'], code: 0, says: /^Usage: npm run secret/ },
  { script: 'secret.ts', args: ['0'], code: 2, says: /^bytes must be .*\n\nUsage: / },
  { script: 'secret.ts', args: ['1', '2'], code: 2, says: /^Give one argument at most.*\n\nUsage: / },
  { script: 'secret.ts', args: ['--nope'], code: 2, says: /^Unknown option '--nope'.*\n\nUsage: / },
  {
    script: 'secret.ts',
    args: ['--write', '../x'],
    code: 2,
    says: /^The environment "\.\.\/x" does not exist/,
  },
  { script: 'secret.ts', args: ['--write', 'dev', '32'], code: 2, says: /^bytes of JWT_SECRET must be/ },
  { script: 'migrate.ts', args: ['--help'], code: 0, says: /^Usage: npm run migrate/ },
  { script: 'migrate.ts', args: ['sideways'], code: 2, says: /^Usage: npm run migrate/ },
  { script: 'migrate.ts', args: ['status', '--adopt'], code: 2, says: /^Usage: npm run migrate/ },
  { script: 'migrate.ts', args: ['down', '--steps', '0'], code: 2, says: /^steps must be .*\n\nUsage: / },
  {
    script: 'migrate.ts',
    args: ['status'],
    code: 1,
    says: /^The database at 127\.0\.0\.1:1 \(DATABASE_URL\) cannot be reached/,
  },
])('$script $args ends with $code', async ({ script, args, code, says }) => {
  const ended = await run(script, args)
  expect(ended.code === 0 ? ended.stdout : ended.stderr).toMatch(says)
  expect(ended.code).toBe(code)
  expect(ended.stdout + ended.stderr).not.toContain('hidden')
})
