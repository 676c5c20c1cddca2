import { AppError } from '@latchkey/shared/app-error.ts'
import { expect, it } from 'vitest'
import { createCodeCheck } from '../../one-time-codes/check-code.ts'
import type { Reset } from '../../one-time-codes/code-tables.ts'
import { createConfirmCode } from './confirm-code.ts'

const NOW = 1_700_000_000_000
const STORED: Reset = {
  id: 'one',
  userid: 'ada',
  email: 'ada@example.com',
  codeHash: 'hash of 123456',
  tokenHash: 'hash of token',
  expiresAt: new Date(NOW + 1),
}

interface Situation {
  stored?: Reset | undefined
  token?: string
  code?: string
  isCounted?: boolean
  isFirst?: boolean
}

/** Confirms the code of a reset; returns what was done, in its order, and the token or the code of the error. */
async function confirm(situation: Situation) {
  const { token, code = '123456', isCounted = true, isFirst = true } = situation
  const steps: string[] = []
  const step = (name: string, result: boolean) => {
    steps.push(name)
    return Promise.resolve(result)
  }
  const checkCode = createCodeCheck<Reset>({
    codes: {
      find: async (key) => {
        const stored = 'stored' in situation ? situation.stored : STORED
        return stored && key === STORED.email ? [stored] : []
      },
      countAttempt: (id, maximum, now) => step(`count ${id} up to ${maximum} at ${now.getTime()}`, isCounted),
    },
    secrets: { isHashOf: (hash, id, value) => hash === `hash of ${value}` && id === STORED.id },
    attempts: 5,
    refusal: () => new AppError('reset_refused', 'no'),
    clock: () => NOW,
  })
  const confirmCode = createConfirmCode({
    checkCode,
    resets: { confirm: (id, now, hash) => step(`confirm ${id} at ${now.getTime()} with ${hash}`, isFirst) },
    secrets: { newToken: () => 'fresh', hash: (_id, value) => `hash of ${value}` },
    clock: () => NOW,
  })
  const given = { email: STORED.email, code, ...(token === undefined ? {} : { token }) }
  const report = ({ name, userid }: { name: string; userid?: string | undefined }) =>
    void steps.push(`report ${name} of ${userid}`)
  const outcome = await confirmCode(given, { report }).catch((error: unknown) =>
    error instanceof AppError ? error.code : Promise.reject(error),
  )
  return { outcome, steps }
}

const COUNTED = `count one up to 5 at ${NOW}`
const confirmedWith = (hash: string) => `confirm one at ${NOW} with ${hash}`
const REPORTED = 'report reset.confirmed of ada'

it.each<{ what: string; situation: Situation; outcome?: string; steps: string[] }>([
  {
    what: 'the right code with its token',
    situation: { token: 'token' },
    outcome: 'token',
    steps: [COUNTED, confirmedWith('hash of token'), REPORTED],
  },
  {
    what: 'the right code without a token',
    situation: {},
    outcome: 'fresh',
    steps: [COUNTED, confirmedWith('hash of fresh'), REPORTED],
  },
  { what: 'no code at all', situation: { stored: undefined }, steps: [] },
  { what: 'another token', situation: { token: 'other' }, steps: [] },
  { what: 'one attempt too many', situation: { isCounted: false }, steps: [COUNTED] },
  { what: 'a wrong code, which counts', situation: { code: '000000' }, steps: [COUNTED] },
  {
    what: 'a code that another call confirms',
    situation: { isFirst: false },
    steps: [COUNTED, confirmedWith('hash of fresh')],
  },
])('$what: $outcome', async ({ situation, outcome = 'reset_refused', steps }) => {
  expect(await confirm(situation)).toEqual({ outcome, steps })
})
