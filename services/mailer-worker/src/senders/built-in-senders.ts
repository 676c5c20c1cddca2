import { createFileSender } from './file.ts'
import type { SenderFactory, SenderRegistry } from './sender.ts'
import { createSmtpSender } from './smtp.ts'

/** Accepts every mail and sends none. */
const createNullSender: SenderFactory = () => ({
  send: async () => undefined,
  verify: async () => undefined,
  close: async () => undefined,
})

/** The senders that Latchkey includes. */
export const BUILT_IN_SENDERS = {
  smtp: createSmtpSender,
  smtps: createSmtpSender,
  file: createFileSender,
  null: createNullSender,
} satisfies SenderRegistry
