import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    hasDocker: boolean
  }
}

/** Whether a Docker engine answers; without one the suites that need containers are skipped. */
export const hasDocker = (): boolean => inject('hasDocker')
