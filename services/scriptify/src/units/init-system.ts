import type { ControlCommand } from './control.ts'
import type { ServiceDefinition } from './service-definition.ts'

/** Options of `install` that not every init system takes. */
export type LimitedOption = '--daemon' | '--interval' | '--enable' | '--start'

export interface ServiceState {
  /**
   * `active`, `inactive` or `failed`; `scheduled` for a job; in some systems also a state between two of these, such as
   * `activating`, or `restarting` after a failure. `unknown` where the init system is not running, or refuses to answer.
   */
  readonly state: string
  readonly startsAtBoot: boolean | 'unknown'
  /** How long it has been active. */
  readonly uptimeSeconds?: number | undefined
  /** How often the init system has restarted it since it was started. */
  readonly restarts?: number | undefined
  readonly memoryBytes?: number | undefined
}

export const SERVICE_ACTIONS = ['start', 'stop', 'restart'] as const
export type ServiceAction = (typeof SERVICE_ACTIONS)[number]

/** A file that a service may need besides its unit, its launcher and its environment. */
export interface ExtraFile {
  /** Such as `/etc/systemd/system/{name}.timer`. */
  readonly path: string
  /** A file of `templates/services/`; its values are those of the unit. */
  readonly template: string
  /** Whether a service with or without a schedule has this file. */
  isNeeded(service: { readonly isScheduled: boolean }): boolean
  /** It is left out where its folder does not exist, such as that of a program that is not installed. */
  readonly isOptional: boolean
}

/**
 * All that scriptify knows about one init system. Its file in `systems/` implements this, its template in
 * `templates/services/` is what it reads, and a line in `init-systems.ts` registers it.
 */
export interface InitSystem {
  /** The value of `--template`; the mark in each file of a service names it. */
  readonly name: string
  /** What `install --help` shows after `scriptify install`. */
  readonly examples: readonly string[]

  /** The file that it reads, such as `/etc/init/{name}.conf`. The folder in front of `{name}` has to exist. */
  readonly unitPath: string
  /** The permissions of that file. */
  readonly unitMode: number
  /** Paths where a service of this name starts from that is not scriptify's; none where names are not shared. */
  namesakes(name: string): readonly string[]
  /** The file that contains the output of a service, or the command that shows it. */
  log(name: string): { readonly file: string } | { readonly command: string }
  /**
   * The words of a `command` in `log` that print its last lines, and then go on with those that follow; `ownLines` are
   * those that the service has written itself.
   */
  readLog?(
    name: string,
    options: { lines: number; follow: boolean; ownLines?: boolean },
  ): readonly [string, ...string[]]

  /** The options that it does not take, each with the reason. */
  readonly refuses: Readonly<Partial<Record<LimitedOption, string>>>
  /** Whether it sandboxes a service: --memory-max, --no-hardening, --no-private-tmp. */
  readonly confines: boolean
  /** Checks --schedule or gives its default, if it has one; throws exit code 2. Undefined where services run all the time. */
  readonly parseSchedule?: (schedule: string | undefined) => string | undefined
  /** What --schedule takes, for its help. */
  readonly scheduleHelp?: string
  /** Why it would lose this value of a variable; undefined where it passes it on. */
  variableFault?(value: string): string | undefined
  /** Throws exit code 2 for a service that it could not start. */
  check?(service: ServiceDefinition): void | Promise<void>
  /** Whether it can lengthen the delay before each restart, on this machine. */
  backsOff?(): Promise<boolean>
  /** Whether it can give a service a folder for a cache, on the host whose files are below `root`. */
  keepsCache?(root: string): boolean
  /** Why it starts nothing on this machine now, and what to do instead; undefined where it runs. */
  absence?(): string | undefined
  /** Throws exit code 2 where it is not able to start or enable a service on this machine. */
  checkHost(wanted: { readonly start: boolean; readonly enable: boolean }): void

  /** A file of `templates/services/`, or an absolute path. */
  readonly template: string
  /** The values of its template besides `name` and `mark`, each escaped for its place. Throws exit code 2. */
  render(service: ServiceDefinition): object
  readonly extraFiles?: readonly ExtraFile[]
  /** Present where it starts a script of `templates/services/launcher` instead of the command itself. */
  readonly launcher?: {
    /** Whether the script writes the output to `log`. */
    readonly logs: boolean
    /** Whether the script skips a run while the previous one lasts. */
    readonly locks: boolean
  }

  /** Makes it read a new or changed unit, and enables that. */
  announce(
    name: string,
    options: { readonly enable: boolean; readonly isScheduled: boolean },
  ): readonly ControlCommand[]
  /** Starts a service, or restarts it with what has been written. */
  start(name: string, options: { readonly isScheduled: boolean }): readonly ControlCommand[]
  /** Starts, stops or restarts an installed service by its own tool; throws exit code 2 where that is not possible. */
  control(name: string, action: ServiceAction): readonly ControlCommand[]
  /** How an admin starts a service; undefined for one that needs no start. */
  startHint?(
    name: string,
    options: { readonly replaces: boolean; readonly elsewhere: boolean; readonly isScheduled: boolean },
  ): string
  /** Whether a service that was just started has failed since; absent where that cannot be told. */
  hasFailed?(name: string): Promise<boolean>
  /**
   * Stops and disables a service that is about to be removed. `legacy` marks one of the original tool, `isGone` one whose
   * unit was removed by hand.
   */
  stop(
    name: string,
    options: { readonly legacy: boolean; readonly isGone: boolean },
  ): readonly ControlCommand[]
  /** Makes it forget a service whose files have been removed. */
  forget(name: string): readonly ControlCommand[]
  /** The warnings of its own tool about an installed unit. */
  verify?(name: string): Promise<readonly string[]>
  /** Asks it about a service. */
  state(name: string): Promise<ServiceState>
  /** The links below `root` by which it starts a service at boot; its own tool may be missing there. */
  links?(name: string, root: string): Promise<readonly string[]>
}
