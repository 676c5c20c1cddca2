import fc from 'fast-check'
import { expect } from 'vitest'
import { type AccountModel, fold, type ModelUser, SETTINGS } from './account-model.ts'
import type { Answer, Mail, Replicas } from './replicas.ts'

/** One sequence of steps: its own users, e-mails and addresses, so that the limits count it separately. */
export interface Run {
  replicas: Replicas
  number: number
  /** The moment after which the windows of the limits may end; later steps do nothing. */
  endsAt: number
  /** The number of new passwords that the run has used so far; each password is new. */
  passwords: number
}

/** The number of e-mails that the steps name; the first ones belong to the users, the others are unknown at first. */
const EMAILS = 5
export const USERS = 3
const CLIENTS = 4

/** Returns how many wrong codes a step sends before the right one: none, or as many as may be tried. */
export const guessesBefore = ({ choice }: Pick<Given, 'choice'>): number =>
  choice % 5 ? 0 : SETTINGS.resetAttempts

/** The numbers by which a step names objects; `at` counts from the newest. */
export interface Given {
  replica: number
  client: number
  email: number
  isUpperCase: boolean
  at: number
  choice: number
}

export const given: fc.Arbitrary<Given> = fc.record({
  replica: fc.nat(1),
  client: fc.nat(CLIENTS - 1),
  email: fc.oneof({ weight: 4, arbitrary: fc.nat(1) }, fc.nat(EMAILS - 1)),
  isUpperCase: fc.boolean(),
  at: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(9)),
  choice: fc.nat(99),
})

export type StepContext = ReturnType<typeof stepContext>
export type StepRun = (step: StepContext) => Promise<void>

export function stepContext(model: AccountModel, run: Run, values: Given) {
  const { replicas, number } = run
  const { replica, client, email, isUpperCase, at, choice } = values
  const plain = emailOf(number, email)
  const address = `10.${number % 200}.${Math.floor(number / 200)}.${client}`
  return {
    ...values,
    number,
    model,
    replicas,
    email: isUpperCase ? plain.toUpperCase() : plain,
    /** An e-mail that no user has. */
    freeEmail:
      range(EMAILS + 2)
        .map((index) => emailOf(number, index))
        .find((each) => !model.findUser(each)) ?? plain,
    address,
    token: model.tokens.at(-1 - (at % Math.max(1, model.tokens.length))),
    reset: model.resets.at(-1 - (at % Math.max(1, model.resets.length))),
    signUp: model.signUps.at(-1 - (at % Math.max(1, model.signUps.length))),
    user: model.users[choice % model.users.length] as ModelUser,
    newPassword: () => numberedPassword(run.passwords++),
    limited: (account: string) => ({ replica, address, account: fold(account) }),
    post: (url: string, payload: object, on = replica) => replicas.send(on, { url, payload, address }),
    /** Sends a code from an address that has sent no wrong one: their limit has its own tests. */
    postCode: (url: string, payload: object, on = replica, jwt?: string) =>
      replicas.send(on, { url, payload, address: nextAddress(), ...(jwt && { token: jwt }) }),
  }
}

let addresses = 0
const nextAddress = () =>
  `10.${100 + Math.floor(++addresses / 62_500)}.${Math.floor(addresses / 250) % 250}.${addresses % 250}`

const range = (length: number) => Array.from({ length }, (_, index) => index)
export const emailOf = (sequence: number, index: number) => `user${sequence}-${index}@example.com`
export const mailsSince = (before: readonly Mail[], mails: readonly Mail[]): Mail[] =>
  mails.filter(({ id }) => before.every((mail) => mail.id !== id))

export const toRecipient = ({ template, to }: Mail): string => `${template} ${to}`

export const together = <Result>(
  count: number,
  call: (replica: number, index: number) => Promise<Result>,
): Promise<Result[]> => Promise.all(Array.from({ length: count }, (_, index) => call(index % 2, index)))

export const tokenOf = ({ body }: Answer): string => String(body.token)

export const expectStatus = (answer: Answer, status: number): void =>
  expect(answer.status, JSON.stringify(answer.body)).toBe(status)

export function expectProblem(answer: Answer, status: number, type: string): void {
  expectStatus(answer, status)
  expect(answer.body.type).toBe(`urn:latchkey:problem:${type}`)
}

export function expectToken(answer: Answer, { userid, name, role }: ModelUser): void {
  expectStatus(answer, 200)
  expect(answer.body.data).toEqual({ userid, name, role })
}

export const otherThan = (code: string | undefined) => (code === '000000' ? '000001' : '000000')

/**
 * A password for each number, which the policy accepts: letters in place of digits, which would be a sequence, and a
 * separator for each place, because 111 would be a repetition.
 */
const numberedPassword = (number: number): string =>
  `N3w-p4ssw0rd!${[...String(number)].map((digit, place) => `${LETTERS[Number(digit)]}${SEPARATORS[place]}`).join('')}`

const LETTERS = 'kqwzxvjbhm'
const SEPARATORS = '-+=~?*^'
