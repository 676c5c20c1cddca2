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
  new Gauge({
    name: 'latchkey_dependency_state',
    help: '1 for the state that the check of the dependency reports: ok, unreachable, connections in use, locked …',
    labelNames: ['dependency', 'state'],
    registers: [registry],
    async collect() {
      const { service, ...checks } = (await readiness.read()).checks
      this.reset()
      for (const [dependency, state] of Object.entries(checks)) this.set({ dependency, state }, 1)
    },
  })
}
