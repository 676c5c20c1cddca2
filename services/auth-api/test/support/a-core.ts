import type { Core } from '../../src/core.ts'

/** A core that has only what is given: what a use case takes, as far as the test needs it. */
export const aCore = (given: { [Member in keyof Core]?: Partial<Core[Member]> }): Core => given as Core
