import { AppError } from '@latchkey/shared/app-error.ts'
import { tooManyWaiting } from '@latchkey/shared/passwords/password-hasher.ts'
import { ada } from '@latchkey/shared/users/test/ada.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { expect, it } from 'vitest'
import { createLogIn, type LogInDependencies } from './log-in.ts'

const USER = ada()
const DELETED = ada({ deletedAt: new Date(0) })
const CLIENT = { address: '192.0.2.1', trust: 'other' } as const

type Verification = Awaited<ReturnType<LogInDependencies['passwords']['verify']>>

interface Situation {
  user?: User | undefined
  verification?: Verification
  isFull?: boolean
}

/** Logs in at 1,500 ms; returns what was done, in its order, and how it ended. */
async function logIn({ user, verification = { matches: false }, isFull = false }: Situation) {
  const steps: string[] = []
  const log = createLogIn({
    users: {
      async findByLogin(field, name) {
        steps.push(`find ${name} by ${field}`)
        return user
      },
    },
    passwords: {
      requireRoom({ address }) {
        if (isFull) throw tooManyWaiting()
        steps.push(`has room for ${address}`)
      },
      async verify(password, stored, client) {
        steps.push(`verify ${password} against ${stored} of a client that is ${client?.trust}`)
        return verification
      },
    },
    requireSecondFactor: async () => undefined,
    replaceHash: async (userid, old, hash) => void steps.push(`replace ${old} of ${userid} by ${hash}`),
    reportUnusableHash: (userid, reason) => void steps.push(`the hash of ${userid} ${reason}`),
    noticeFailedLogin: (name, userid, address) =>
      void steps.push(`notice ${name}, ${userid} from ${address}`),
    noticeLogin: async ({ userid }, { agent }) => void steps.push(`notice a login of ${userid} by ${agent}`),
    async issueToken({ userid, name, role }, readAt) {
      steps.push(`issue at ${readAt}`)
      return { token: 'token', data: { userid, name: String(name), role: String(role) } }
    },
    field: 'email',
    clock: () => 1_500,
  })
  const credentials = { username: 'ada@example.com', password: 'guess' }
  const audit: Parameters<typeof log>[2] = {
    address: CLIENT.address,
    agent: 'a browser',
    report: ({ name, userid, reason }) =>
      void steps.push(`report ${name} of ${userid}${reason ? `: ${reason}` : ''}`),
    write: async () => undefined,
  }
  const outcome = await log(credentials, CLIENT, audit).then(
    ({ token }) => token,
    (error) => (error instanceof AppError ? `${error.code}: ${error.message}` : Promise.reject(error)),
  )
  return { outcome, steps }
}

const found = (stored: string | undefined) => [
  'has room for 192.0.2.1',
  'find ada@example.com by email',
  `verify guess against ${stored} of a client that is other`,
]
const refused = (userid: string | undefined, reason: string) => [
  `report login.refused of ${userid}: ${reason}`,
  `notice ada@example.com, ${userid} from 192.0.2.1`,
]
const REPORTED = [`report login.succeeded of ${USER.userid}`, `notice a login of ${USER.userid} by a browser`]
const UNUSABLE = { matches: false, unusable: 'is cut' }

it.each<{ why: string; situation: Situation; steps: string[] }>([
  // The hash is nearly all of the time that a login takes: to skip it would reveal which users exist.
  {
    why: 'an unknown user',
    situation: {},
    steps: [...found(undefined), ...refused(undefined, 'unknown_user')],
  },
  {
    why: 'a deleted user',
    situation: { user: DELETED, verification: { matches: true } },
    steps: [...found(USER.passwordHash), ...refused(USER.userid, 'deleted_user')],
  },
  {
    why: 'a wrong password',
    situation: { user: USER },
    steps: [...found(USER.passwordHash), ...refused(USER.userid, 'wrong_password')],
  },
  {
    why: 'a stored hash that no password matches',
    situation: { user: USER, verification: UNUSABLE },
    steps: [
      ...found(USER.passwordHash),
      `the hash of ${USER.userid} is cut`,
      ...refused(USER.userid, 'wrong_password'),
    ],
  },
])('refuses $why, after one verification', async ({ situation, steps }) => {
  const outcome = 'invalid_credentials: The username or the password is wrong'
  expect(await logIn(situation)).toEqual({ outcome, steps })
})

it.each<{ why: string; verification: Verification; steps: string[] }>([
  { why: 'a hash of today', verification: { matches: true }, steps: [] },
  {
    why: 'an older hash, which is replaced',
    verification: { matches: true, rehashed: 'the new one' },
    steps: [`replace ${USER.passwordHash} of ${USER.userid} by the new one`],
  },
])('accepts the password of $why', async ({ verification, steps }) => {
  expect(await logIn({ user: USER, verification })).toEqual({
    outcome: 'token',
    steps: [...found(USER.passwordHash), ...steps, ...REPORTED, 'issue at 1'],
  })
})

it('costs no statement while too many logins wait', async () => {
  const { outcome, steps } = await logIn({ user: USER, isFull: true })
  expect(outcome).toMatch(/^overloaded: /)
  expect(steps).toEqual([])
})
