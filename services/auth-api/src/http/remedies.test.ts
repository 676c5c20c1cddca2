import { globSync, readFileSync } from 'node:fs'
import { AppError, type AppErrorOptions, type ErrorCode } from '@latchkey/shared/errors/app-error.ts'
import { expect, it } from 'vitest'
import { describeError } from './remedies.ts'

const SRC = new URL('..', import.meta.url).pathname

it.each<{ code: ErrorCode; options?: AppErrorOptions; detail: string }>([
  { code: 'invalid_token', detail: 'Wrong; log in again' },
  { code: 'invalid_token', options: { reason: 'user_gone' }, detail: 'Wrong; log in as another user' },
  {
    code: 'insufficient_user_authentication',
    options: { reason: 'factor_missing' },
    detail: 'Wrong; confirm it by POST /login/stepup, or add one first',
  },
  { code: 'session_not_found', detail: 'Wrong; GET /sessions lists them' },
  { code: 'rate_limited', options: { retryAfterSeconds: 1 }, detail: 'Wrong; try again in a second' },
  { code: 'rate_limited', options: { retryAfterSeconds: 9 }, detail: 'Wrong; try again in 9 seconds' },
  { code: 'email_taken', detail: 'Wrong' },
])('says what is wrong and what to do: $detail', ({ code, options, detail }) => {
  expect(describeError(new AppError(code, 'Wrong', options))).toBe(detail)
})

const CORE = ['features', 'tokens', 'limits', 'audit']
const files = CORE.flatMap((room) => globSync(`${room}/**/*.ts`, { cwd: SRC })).filter(
  (file) => !/(routes|\.test)\.ts$/.test(file),
)
/** Comments may name a route: they tell the reader who calls. */
const withoutComments = (text: string): string => text.replace(/^\s*(\/\/|\/?\*).*$/gm, '')

it('the core names no route in what it says: the edge does', () => {
  const naming = files.filter((file) =>
    /\b(GET|POST|PUT|PATCH|DELETE) \/\w/.test(withoutComments(readFileSync(`${SRC}${file}`, 'utf8'))),
  )
  expect(files.length).toBeGreaterThan(50)
  expect(naming).toEqual([])
})
