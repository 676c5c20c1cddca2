import type { Service } from '../../src/services/service.ts'

/** A checked service of another host: what its init system can do does not depend on this machine. */
export const aService = (changes: Partial<Service> = {}): Service => ({
  ...{ name: 'importer', root: '/elsewhere' },
  description: 'an importer',
  command: ['/usr/bin/php8.4', '/srv/call.php'],
  possiblePaths: [],
  interval: 1,
  rootdir: '/srv/shop',
  ...{ user: undefined, group: undefined, environment: {}, schedule: undefined },
  ...{ hardened: true, memoryMax: undefined, restart: 'on-failure', after: [] },
  ...changes,
})
