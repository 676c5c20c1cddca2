import type { SenderFactory } from './sender.ts'

/** Accepts every mail and sends none. */
export const createNullSender: SenderFactory = () => ({
  send: async () => undefined,
  verify: async () => undefined,
  close: async () => undefined,
})
