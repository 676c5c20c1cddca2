import { expect } from 'vitest'
import type { Request } from '../model/replicas.ts'
import type { AccountHistory } from './account-history.ts'
import type { Exchange, KilledReplicas } from './killed-replicas.ts'

/** What a step does is chosen by numbers. */
export interface Choice {
  replica: number
  token: number
  variant: number
}

export interface Use extends Choice {
  account: AccountHistory
  service: KilledReplicas
  /** An address of another user, who does nothing. */
  takenEmail: string
}

export type Step = (use: Use) => Promise<void>

/** Sends a request, and writes it down in the history of the account. */
export async function send({ account, service, replica }: Use, request: Request): Promise<Exchange> {
  const exchange = await service.send(replica, request)
  const { status, body } = exchange.answer ?? {}
  const { method = 'POST', url, payload, token } = request
  const held = token === undefined ? '' : `token ${account.tokens.findIndex(({ jwt }) => jwt === token)} `
  account.note(
    `${method} ${url} ${held}${JSON.stringify(payload) ?? ''} -> ${status ?? 'broken'} ${body?.type ?? ''} ${body?.detail ?? ''}`,
  )
  return exchange
}

export const expectStatus = ({ answer }: Exchange, status: number): void =>
  void (answer && expect(answer.status, JSON.stringify(answer.body)).toBe(status))

export const tokenOf = ({ answer }: Exchange): string => String(answer?.body.token)
