import { createResetRepository } from '@latchkey/shared/users/reset-repository.ts'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { createRequestUserCode } from '../one-time-codes/request-user-code.ts'

type RequestResetCore = Pick<
  Core,
  'limitResets' | 'users' | 'transaction' | 'mails' | 'mailLink' | 'codeSecrets' | 'sharedNow'
>

/** Begins a reset for an e-mail and accepts its mail; returns the reset's token. Throws `rate_limited`. */
export const createRequestReset = (core: RequestResetCore, { ttlSeconds }: Config['reset']) =>
  createRequestUserCode(core, {
    template: 'password-reset',
    event: 'reset.requested',
    secrets: core.codeSecrets.reset,
    limit: core.limitResets,
    ttlSeconds,
    insert: (db, reset, now) => createResetRepository(db).insert(reset, now),
    linkTo: ({ email, code }) => core.mailLink('reset', { email, code }),
  })
