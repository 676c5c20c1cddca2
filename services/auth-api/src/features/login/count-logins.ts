import { Counter, type Registry } from 'prom-client'
import { countOutcome, OUTCOMES } from '../../http/count-outcome.ts'

/** Creates the function that counts a login by its outcome, and passes on its result or error. */
export function createLoginCounter(registry: Registry) {
  const logins = new Counter({
    name: 'latchkey_logins_total',
    help: 'Logins by outcome',
    labelNames: ['outcome'],
    registers: [registry],
  })
  // Each series exists from the start, so that the first event is an increase.
  for (const outcome of [...OUTCOMES, 'challenged']) logins.inc({ outcome }, 0)
  return <Result>(action: Promise<Result>): Promise<Result> =>
    countOutcome(action, (outcome) => logins.inc({ outcome }))
}
