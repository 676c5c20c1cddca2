import type { Registry } from 'prom-client'
import { createOutcomeCounter } from '../../http/count-outcome.ts'

/** Creates the function that counts a step of a password reset. */
export const createResetCounter = (registry: Registry) =>
  createOutcomeCounter(registry, ['requested', 'confirmed', 'completed'], {
    name: 'latchkey_password_resets_total',
    help: 'Steps of password resets by outcome; a request for an unknown e-mail succeeds too',
    label: 'step',
  })
