import { Gauge, type Registry } from 'prom-client'
import type { Clock } from '../../time/clock.ts'
import type { OutboxRepository } from './outbox-repository.ts'

/**
 * The age of the oldest mail that is to be sent, read from the database at each scrape. auth-api reports it too: when
 * every worker is dead, their own metrics are absent.
 */
export function registerOutboxAge(
  registry: Registry,
  { outbox, localNow }: { outbox: Pick<OutboxRepository, 'findOldest'>; localNow: Clock },
): void {
  registerAge(registry, localNow, {
    name: 'latchkey_mail_oldest_unsent_seconds',
    help: 'Age of the oldest accepted mail that is to be sent; 0 without one, NaN while the database is unavailable',
    findOldest: outbox.findOldest,
  })
}

/** The age of the oldest mail that the queue did not take. */
export function registerDispatchAge(
  registry: Registry,
  { outbox, localNow }: { outbox: Pick<OutboxRepository, 'findOldestUndispatched'>; localNow: Clock },
): void {
  registerAge(registry, localNow, {
    name: 'latchkey_mail_oldest_undispatched_seconds',
    help: 'Age of the oldest accepted mail that the queue never had; 0 without one, NaN while the database is unavailable',
    findOldest: outbox.findOldestUndispatched,
  })
}

function registerAge(
  registry: Registry,
  localNow: Clock,
  { name, help, findOldest }: { name: string; help: string; findOldest: () => Promise<Date | undefined> },
): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      try {
        const oldest = await findOldest()
        this.set(oldest ? Math.max(0, localNow() - oldest.getTime()) / 1000 : 0)
      } catch {
        this.set(Number.NaN)
      }
    },
  })
}
