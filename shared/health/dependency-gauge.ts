import { Gauge, type Registry } from 'prom-client'
import type { Readiness } from './readiness.ts'

/** Reports what `/health/ready` says of each dependency, read at each scrape. */
export function registerDependencyGauge(registry: Registry, readiness: Pick<Readiness, 'read'>): void {
  new Gauge({
    name: 'latchkey_dependency_up',
    help: '1 while the dependency passes its check and no request fails because of it, otherwise 0',
    labelNames: ['dependency'],
    registers: [registry],
    async collect() {
      const { service, ...checks } = (await readiness.read()).checks
      for (const [dependency, outcome] of Object.entries(checks))
        this.set({ dependency }, outcome === 'ok' ? 1 : 0)
    },
  })
}
