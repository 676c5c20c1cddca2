import { createFileSender } from './file.ts'
import { createNullSender } from './null.ts'
import type { SenderRegistry } from './sender.ts'
import { createSmtpSender } from './smtp.ts'

/** The senders that Latchkey includes. */
export const BUILT_IN_SENDERS = {
  smtp: createSmtpSender,
  smtps: createSmtpSender,
  file: createFileSender,
  null: createNullSender,
} satisfies SenderRegistry
