/** The init systems that a service can be written for. */
export const TEMPLATES = ['systemd', 'upstart', 'initd', 'crond'] as const
export type ServiceTemplate = (typeof TEMPLATES)[number]

/** All that the files of a service hold; every text has been checked by `parseService`. */
export interface ServiceDefinition {
  readonly name: string
  readonly template: ServiceTemplate
  /** One line. */
  readonly description: string
  /** The words to execute, first the absolute path of a program. */
  readonly command: readonly [string, ...string[]]
  /** Tells whether the command calls its method again and again until it is stopped. */
  readonly daemon: boolean
  /** Absolute; the working directory. */
  readonly rootdir: string
  /** An account's name; root where there is none. */
  readonly user: string | undefined
  /** A group's name; the account's own where there is none. */
  readonly group: string | undefined
  readonly environment: Readonly<Record<string, string>>
  /** Five fields, or a name like `@daily`; crond alone uses it. */
  readonly schedule: string
  /** Tells whether systemd confines the service. */
  readonly hardened: boolean
  /** Tells whether the service gets a /tmp of its own; systemd alone can. */
  readonly privateTmp: boolean
  /** A number of bytes, with K, M, G or T behind it; systemd alone keeps to it. */
  readonly memoryMax: string | undefined
}

/** Where the file that the init system reads lies. */
export const MAIN_FILE: Readonly<Record<ServiceTemplate, (name: string) => string>> = {
  systemd: (name) => `/etc/systemd/system/${name}.service`,
  upstart: (name) => `/etc/init/${name}.conf`,
  initd: (name) => `/etc/init.d/${name}`,
  crond: (name) => `/etc/cron.d/${name}`,
}

/** Where the system's own programs lie, and what a service that scriptify starts finds in PATH. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export const SCRIPTIFY_DIR = '/etc/scriptify'
export const environmentFile = (name: string): string => `${SCRIPTIFY_DIR}/${name}.env`
export const launcherFile = (name: string): string => `${SCRIPTIFY_DIR}/${name}.run`
/** None for systemd, which keeps a journal. */
export const logFile = (name: string, template: Exclude<ServiceTemplate, 'systemd'>): string =>
  template === 'upstart' ? `/var/log/upstart/${name}.log` : `/var/log/scriptify-${name}.log`
export const pidFile = (name: string): string => `/run/scriptify-${name}.pid`
/** Held by a run of a cron job; apart from the launcher, which an installation replaces. */
export const lockFile = (name: string): string => `/run/scriptify-${name}.lock`
