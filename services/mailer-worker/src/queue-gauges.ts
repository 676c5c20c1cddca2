import type { MailQueue } from '@latchkey/shared/mail/queue/mail-queue.ts'
import { Gauge, type Registry } from 'prom-client'

const SHOWN_STATES = ['waiting', 'active', 'delayed', 'failed'] as const

/** The jobs of the mail queue and its memory, read at each scrape; no value while its server is unavailable. */
export function registerQueueGauges(registry: Registry, queue: Pick<MailQueue, 'counts' | 'memory'>): void {
  new Gauge({
    name: 'latchkey_mail_jobs',
    help: 'Jobs of the mail queue by state',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      const counts = await queue.counts().catch(() => undefined)
      if (!counts) return this.reset()
      for (const state of SHOWN_STATES) this.set({ state }, counts[state])
    },
  })
  new Gauge({
    name: 'latchkey_queue_memory_bytes',
    help: 'Memory that Redis uses, and its maxmemory, which is 0 without a limit; no value for a queue in PostgreSQL',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      const memory = await queue.memory().catch(() => undefined)
      if (!memory) return this.reset()
      for (const state of ['used', 'max'] as const) this.set({ state }, memory[state])
    },
  })
}
