import { Counter, Histogram, type Registry } from 'prom-client'

export type MailMetrics = ReturnType<typeof createMailMetrics>

/** The outcomes of mails, counted by this process. */
export function createMailMetrics(registry: Registry) {
  const counter = (name: string, help: string) => new Counter({ name, help, registers: [registry] })
  return {
    sent: counter('latchkey_mail_sent_total', 'Mails that the mail server accepted'),
    failed: counter(
      'latchkey_mail_failed_total',
      'Mails that failed permanently and are kept as failed jobs',
    ),
    expired: counter('latchkey_mail_expired_total', 'Mails dropped because they had expired'),
    retried: counter('latchkey_mail_retried_total', 'Attempts that failed and are retried'),
    repeated: counter(
      'latchkey_mail_repeated_total',
      'Mails sent again after a worker died while it sent them: possible duplicates, same Message-ID',
    ),
    swept: counter('latchkey_mail_outbox_swept_total', 'Mails that the sweep added to the queue'),
    restored: counter(
      'latchkey_mail_outbox_restored_total',
      'Mails that the queue had lost and the sweep added again',
    ),
    waited: new Histogram({
      name: 'latchkey_mail_wait_seconds',
      help: 'Time from the acceptance of a mail by Latchkey until the mail server has accepted it',
      buckets: [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600],
      registers: [registry],
    }),
    seconds: new Histogram({
      name: 'latchkey_mail_delivery_seconds',
      help: 'Time until the mail server has accepted one mail',
      buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60],
      registers: [registry],
    }),
  }
}
