import { Gauge, type Registry } from 'prom-client'
import type { Clock } from '../clock.ts'
import type { OutboxRepository } from './outbox-repository.ts'

export interface OutboxAgeDependencies {
  outbox: Pick<OutboxRepository, 'findOldest'>
  clock: Clock
}

/**
 * The age of the oldest mail that is to be sent, read from the database at each scrape. auth-api reports it too: when
 * every worker is dead, their own metrics are absent.
 */
export function registerOutboxAge(registry: Registry, { outbox, clock }: OutboxAgeDependencies): void {
  new Gauge({
    name: 'latchkey_mail_oldest_unsent_seconds',
    help: 'Age of the oldest accepted mail that is to be sent; 0 without one, NaN while the database is unavailable',
    registers: [registry],
    async collect() {
      try {
        const oldest = await outbox.findOldest()
        this.set(oldest ? Math.max(0, clock() - oldest.getTime()) / 1000 : 0)
      } catch {
        this.set(Number.NaN)
      }
    },
  })
}
