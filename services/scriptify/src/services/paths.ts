import type { ExtraFile, InitSystem } from './init-system.ts'

/** PATH of a service that scriptify starts; the system's own programs are in it. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export const SCRIPTIFY_DIR = '/etc/scriptify'
export const environmentFile = (name: string): string => `${SCRIPTIFY_DIR}/${name}.env`
export const launcherFile = (name: string): string => `${SCRIPTIFY_DIR}/${name}.run`
/** The file to which a launcher writes the output of its service. */
export const launcherLog = (name: string): string => `/var/log/scriptify-${name}.log`
export const pidFile = (name: string): string => `/run/scriptify-${name}.pid`
/** Locked while a scheduled run lasts; not the launcher itself, because an installation replaces that. */
export const lockFile = (name: string): string => `/run/scriptify-${name}.lock`
/** The exit code of the last scheduled run, whose end is the time of the file. */
export const resultFile = (name: string): string => `/run/scriptify-${name}.result`

/** The file of a service that the init system reads. */
export const unitFile = ({ unitPath }: InitSystem, name: string): string => unitPath.replace('{name}', name)

/** The path of an extra file of a service. */
export const extraPath = ({ path }: ExtraFile, name: string): string => path.replace('{name}', name)

/** The configuration of logrotate for the log that a launcher writes. */
export const LOG_ROTATION: ExtraFile = {
  path: '/etc/logrotate.d/scriptify-{name}',
  template: 'logrotate',
  isNeeded: () => true,
  isOptional: true,
}

/** The paths of all extra files that a service of this name could have. */
export const extraPaths = (name: string, systems: readonly InitSystem[]): string[] => [
  ...new Set(systems.flatMap(({ extraFiles }) => extraFiles).map((extra) => extraPath(extra, name))),
]

/** The folder of an init system's units, which exists where that is installed. */
export const unitFolder = ({ unitPath }: InitSystem): string => unitPath.slice(0, unitPath.indexOf('/{name}'))

/** The folders that scriptify creates for a service, and removes once they are empty. */
export function ownFolders(system: InitSystem, name: string): string[] {
  const file = unitFile(system, name)
  const folder = file.slice(0, file.lastIndexOf('/'))
  return folder === unitFolder(system) ? [SCRIPTIFY_DIR] : [SCRIPTIFY_DIR, folder]
}

/** The service whose unit an entry of the unit folder is or contains; undefined for an entry of another form. */
export function serviceOfEntry({ unitPath }: InitSystem, entry: string): string | undefined {
  const [, suffix = ''] = /\{name\}([^/]*)/.exec(unitPath) ?? []
  return entry.endsWith(suffix) ? entry.slice(0, entry.length - suffix.length) : undefined
}
