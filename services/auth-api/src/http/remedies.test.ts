import { globSync, readFileSync } from 'node:fs'
import {
  AppError,
  type AppErrorOptions,
  type ErrorCode,
  type ErrorReason,
} from '@latchkey/shared/errors/app-error.ts'
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
  { code: 'account_banned', detail: 'Wrong; ask the support' },
  {
    code: 'account_banned',
    options: { details: { banned_until: '2100-01-01T00:00:00.000Z' } },
    detail: 'Wrong; try again after 2100-01-01T00:00:00.000Z',
  },
  { code: 'email_taken', detail: 'Wrong' },
])('says what is wrong and what to do: $detail', ({ code, options, detail }) => {
  expect(describeError(new AppError(code, 'Wrong', options))).toBe(detail)
})

it.each<[ErrorReason, string]>([
  ['code_missing', 'send one of your second factor, or a recovery code'],
  ['app_code_wrong', 'send the next one, and check the clock of your device'],
  ['recovery_code_wrong', 'send another one'],
  ['enrolment_missing', 'request a new secret'],
  ['passkey_invalid', 'try again'],
  ['passkey_unknown', 'log in another way, and add it then'],
  ['passkey_missing', 'use another factor'],
  ['passkey_copied', 'log in another way, and remove the passkey'],
  ['passkey_certified', 'create it with the attestation "none"'],
  ['user_unverified', 'log in with the password, and use it then'],
])('says what to do about a second factor: %s', (reason, remedy) => {
  expect(describeError(new AppError('passkey_refused', 'Wrong', { reason }))).toBe(`Wrong; ${remedy}`)
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

/** A call with up to two levels of parentheses inside. */
const NEW_ERROR = /new AppError\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)/g
/** A message on the spot, or one of two by a condition: a message in a variable would escape this test. */
const HAS_MESSAGE = /^new AppError\(\s*['\w]+,\s*(?:\w+\s*\?\s*)?['`]/
const HAS_ADVICE = /; |['`](?:Add|Choose|Confirm|Create|Log|Open|Remove|Request|Send|Set|Try|Use) /

it('no error outside the edge has advice in its message', () => {
  const errors = globSync('**/*.ts', { cwd: SRC, exclude: ['http/**', '**/*.test.ts'] }).flatMap((file) => {
    const text = withoutComments(readFileSync(`${SRC}${file}`, 'utf8'))
    const calls = text.match(NEW_ERROR) ?? []
    expect(calls, file).toHaveLength(text.split('new AppError(').length - 1)
    return calls
  })
  expect(errors.length).toBeGreaterThan(30)
  expect(errors.filter((call) => !HAS_MESSAGE.test(call) || HAS_ADVICE.test(call))).toEqual([])
})
