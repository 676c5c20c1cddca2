import { AppError, type ErrorCode } from '@latchkey/shared/errors/app-error.ts'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { createLoginCounter } from '../features/login/count-logins.ts'
import { createResetCounter } from '../features/password-reset/count-resets.ts'

async function countedAs(action: Promise<unknown>): Promise<string | undefined> {
  const registry = new Registry()
  await createLoginCounter(registry)(action).catch(() => undefined)
  const text = await registry.getSingleMetricAsString('latchkey_logins_total')
  return /outcome="(\w+)"} 1$/m.exec(text)?.[1]
}

const refusal = (code: ErrorCode) => Promise.reject(new AppError(code, ''))

it.each([
  { what: 'a token', action: () => Promise.resolve('token'), outcome: 'succeeded' },
  { what: 'a wrong password', action: () => refusal('invalid_credentials'), outcome: 'refused' },
  { what: 'a limit', action: () => refusal('rate_limited'), outcome: 'limited' },
  {
    what: 'a second factor that is needed',
    action: () => refusal('second_factor_required'),
    outcome: 'challenged',
  },
  { what: 'a full queue of hashes', action: () => refusal('overloaded'), outcome: 'overloaded' },
  { what: 'a database that is away', action: () => refusal('unavailable'), outcome: 'failed' },
  { what: 'a bug', action: () => Promise.reject(new TypeError('x')), outcome: 'failed' },
])('counts $what as $outcome', async ({ action, outcome }) => {
  expect(await countedAs(action())).toBe(outcome)
})

it('passes on the result and the error, and has every series from the start', async () => {
  const registry = new Registry()
  const countLogin = createLoginCounter(registry)
  const countReset = createResetCounter(registry)
  expect(await countLogin(Promise.resolve('token'))).toBe('token')
  await expect(countReset('completed', refusal('reset_refused'))).rejects.toThrow(AppError)
  const text = await registry.metrics()
  expect(text.match(/^latchkey_\w+{/gm)).toHaveLength(6 + 15)
  expect(text).toContain('latchkey_password_resets_total{step="completed",outcome="refused"} 1')
})
