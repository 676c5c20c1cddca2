import type { Registry } from 'prom-client'
import { createOutcomeCounter } from '../../http/count-outcome.ts'

/** Creates the function that counts an attempt to show a second factor. */
export const createFactorCounter = (registry: Registry, kinds: readonly string[]) =>
  createOutcomeCounter(registry, kinds, {
    name: 'latchkey_second_factors_total',
    help: 'Attempts to show a second factor, by the kind of factor and outcome',
    label: 'factor',
  })

export type CountFactor = ReturnType<typeof createFactorCounter>
