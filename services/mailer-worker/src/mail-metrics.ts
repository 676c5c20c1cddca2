import { Counter, Histogram, type Registry } from 'prom-client'

export type MailMetrics = ReturnType<typeof createMailMetrics>

/** What becomes of mails, counted by this process. */
export function createMailMetrics(registry: Registry) {
  const counter = (name: string, help: string) => new Counter({ name, help, registers: [registry] })
  return {
    sent: counter('latchkey_mail_sent_total', 'Mails handed to the mail server'),
    failed: counter('latchkey_mail_failed_total', 'Mails that failed for good and are kept as failed jobs'),
    expired: counter(
      'latchkey_mail_expired_total',
      'Mails dropped because what they say was no longer valid',
    ),
    retried: counter('latchkey_mail_retried_total', 'Attempts that failed and will be repeated'),
    repeated: counter(
      'latchkey_mail_repeated_total',
      'Mails sent again after a worker died with them in hand: possible duplicates, same Message-ID',
    ),
    swept: counter('latchkey_mail_outbox_swept_total', 'Mails that the sweep put into the queue'),
    restored: counter(
      'latchkey_mail_outbox_restored_total',
      'Mails that the queue had lost and the sweep put into it again',
    ),
    seconds: new Histogram({
      name: 'latchkey_mail_delivery_seconds',
      help: 'Time to hand one mail to the mail server',
      buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60],
      registers: [registry],
    }),
  }
}
