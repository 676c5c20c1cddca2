/** PATH of a service that scriptify starts; the system's own programs are in it. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export const SCRIPTIFY_DIR = '/etc/scriptify'
export const environmentFile = (name: string): string => `${SCRIPTIFY_DIR}/${name}.env`
export const launcherFile = (name: string): string => `${SCRIPTIFY_DIR}/${name}.run`
/** Where a launcher writes the output of its service. */
export const launcherLog = (name: string): string => `/var/log/scriptify-${name}.log`
export const pidFile = (name: string): string => `/run/scriptify-${name}.pid`
/** Locked while a scheduled run lasts; not the launcher itself, because an installation replaces that. */
export const lockFile = (name: string): string => `/run/scriptify-${name}.lock`
