import type { ExtraFile } from '../init-system.ts'

/** The configuration of logrotate for the log that a launcher writes. */
export const launcherLogRotation: ExtraFile = {
  path: '/etc/logrotate.d/scriptify-{name}',
  template: 'logrotate',
  isNeeded: () => true,
  isOptional: true,
}
