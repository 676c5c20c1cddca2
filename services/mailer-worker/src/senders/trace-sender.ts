import type { RunInSpan } from '@latchkey/shared/telemetry/tracing.ts'
import type { Sender } from './sender.ts'

/** Creates a span for each mail that a sender takes to its server; it contains nothing of the mail. */
export const traceSender =
  (send: Sender['send'], runInSpan: RunInSpan): Sender['send'] =>
  (mail) =>
    runInSpan('send mail', {}, () => send(mail))
