import type { InitSystem } from './init-system.ts'
import { crond } from './systems/crond.ts'
import { initd } from './systems/initd.ts'
import { systemd } from './systems/systemd.ts'
import { upstart } from './systems/upstart.ts'

/** The init systems that a service can be installed for, in the order of the help; the first is the default. */
export const INIT_SYSTEMS: readonly [InitSystem, ...InitSystem[]] = [systemd, upstart, initd, crond]
