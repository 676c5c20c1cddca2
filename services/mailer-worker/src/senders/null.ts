import type { SenderFactory } from './sender.ts'

/** Sends nothing, and says it did. */
export const createNullSender: SenderFactory = () => ({
  send: async () => undefined,
  verify: async () => undefined,
  close: async () => undefined,
})
