import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { createPurge } from './purge-expired.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')
const [MINUTE_MS, HOUR_MS, DAY_MS] = [60_000, 3_600_000, 86_400_000]

it('keeps the rows of each table for a time after their moment', async () => {
  const keptMs: Record<string, number> = {}
  const purge = createPurge({
    db: {
      async query({ name }, [, dueBefore] = []) {
        if (name.endsWith('-due')) keptMs[name] = NOW - Number(dueBefore)
        return []
      },
      execute: async () => 0,
    },
    registry: new Registry(),
    auditDays: 90,
    localNow: () => NOW,
  })
  await purge(new AbortController().signal)
  expect(keptMs).toEqual({
    'password_reset-due': DAY_MS,
    'email_change-due': DAY_MS,
    'token_revocation-due': HOUR_MS,
    'sign_up-due': MINUTE_MS,
    'identity_login-due': MINUTE_MS,
    'mailed_code-due': MINUTE_MS,
    'user_session-due': MINUTE_MS,
    'audit_event-due': 90 * DAY_MS,
  })
})
