import type { Service } from './service.ts'

/** A command for an init system; the failure of one that may fail is ignored. */
export interface ControlCommand {
  readonly words: readonly [string, ...string[]]
  readonly mayFail?: boolean
}

/** Options of `install` that not every init system takes. */
export type LimitedOption =
  | '--daemon'
  | '--interval'
  | '--enable'
  | '--start'
  | '--restart'
  | '--after'
  | '--memory-max'
  | '--no-hardening'

export interface ServiceState {
  /**
   * `active`, `inactive` or `failed`; `scheduled` for a job; in some systems also a state between two of these, such as
   * `activating`, or `restarting` after a failure. `unknown` where the init system is not running, or refuses to answer.
   */
  readonly state: string
  readonly startsAtBoot: boolean | 'unknown'
  /** The time for which it has been active. */
  readonly uptimeSeconds?: number | undefined
  /** The number of times that the init system has restarted it since it was started. */
  readonly restarts?: number | undefined
  readonly memoryBytes?: number | undefined
  /** The end of the last run: `success`, or what the init system calls the failure. */
  readonly lastResult?: string | undefined
  /** The time at which the last run ended, or a timer last elapsed, in ISO 8601. */
  readonly lastRun?: string | undefined
  /** The time at which a timer elapses next, in ISO 8601. */
  readonly nextRun?: string | undefined
}

export const SERVICE_ACTIONS = ['start', 'stop', 'restart'] as const
export type ServiceAction = (typeof SERVICE_ACTIONS)[number]

/** A file that a service may need besides its unit, its launcher and its environment. */
export interface ExtraFile {
  /** The path of the file, such as `/etc/systemd/system/{name}.timer`. */
  readonly path: string
  /** A file of `templates/services/`; its values are those of the unit. */
  readonly template: string
  /** True where such a service has this file. */
  isNeeded(service: { readonly isScheduled: boolean }): boolean
  /** True where the file is left out if its folder does not exist, because a program is not installed. */
  readonly isOptional: boolean
}

/** The place of a service's output: a file, or another program that shows it. */
export type ServiceLog =
  | { readonly file: string }
  | {
      /** The command by which an admin sees the output. */
      readonly command: string
      /**
       * Returns the command that prints the last lines of the service itself, each with its time. The number may be
       * Infinity. With `follow` the command then prints each new line, with `since` no older one.
       */
      read(options: {
        lines: number
        follow: boolean
        since?: Date | undefined
      }): readonly [string, ...string[]]
      /** True where this user may see the lines. */
      isReadable(): boolean
    }

/**
 * All that scriptify knows about one init system. A file in `systems/` implements this, and a line in `init-systems.ts`
 * registers it. Its template in `templates/services/` becomes the file that the init system reads.
 */
export interface InitSystem {
  /** The value of `--template`; the mark in each file of a service names it. */
  readonly name: string
  /** The arguments that `install --help` shows after `scriptify install`. */
  readonly examples: readonly string[]

  /** The file that it reads, such as `/etc/init/{name}.conf`. The folder in front of `{name}` has to exist. */
  readonly unitPath: string
  /** The permissions of that file. */
  readonly unitMode: number
  /** Paths of units of the distribution or an admin that would start a service of this name. */
  namesakes(name: string): readonly string[]
  log(name: string): ServiceLog

  /** The options that it does not take, each with the reason. */
  readonly refuses: Readonly<Partial<Record<LimitedOption, string>>>
  /** Its support of schedules; undefined where services run all the time. */
  readonly schedule:
    | {
        /** The values that --schedule takes, for its help. */
        readonly help: string
        /** Checks --schedule and returns it, or its default, if it has one; throws exit code 2. */
        parse(schedule: string | undefined): string | undefined
      }
    | undefined
  /** Returns why it cannot start or enable a service on this machine, and what to do instead; undefined where it can. */
  reasonAgainst(action: 'start' | 'enable'): string | undefined

  /** A file of `templates/services/`, or an absolute path. */
  readonly template: string
  /**
   * The values of its template besides `name` and `mark`, each escaped for its place. Throws exit code 2 for a service that
   * it could not start.
   */
  render(service: Service): object | Promise<object>
  readonly extraFiles: readonly ExtraFile[]
  /** The script of `templates/services/launcher` that it starts instead of the command; undefined where it needs none. */
  readonly launcher:
    | {
        /** True where the script writes the output to `log`. */
        readonly logs: boolean
        /** True where the script skips a run while the previous one lasts. */
        readonly locks: boolean
      }
    | undefined

  /** Commands that make it read a new or changed unit, and enable that unit if `enable` is true. */
  reloadCommands(
    name: string,
    options: { readonly enable: boolean; readonly isScheduled: boolean },
  ): readonly ControlCommand[]
  /**
   * Commands that start, stop or restart a service by its own tool; throws exit code 2 for what it never does. By default
   * the service has a schedule where its files say so.
   */
  controlCommands(name: string, action: ServiceAction, isScheduled?: boolean): readonly ControlCommand[]
  /**
   * Commands that stop a service that is about to be removed, and nothing else of its name. `isGone` is true for one whose
   * unit was removed by hand.
   */
  stopCommands(
    name: string,
    options: { readonly isGone: boolean },
  ): readonly ControlCommand[] | Promise<readonly ControlCommand[]>
  /** The files that it keeps about a service, and that a later one of the same name must not find. */
  stateFiles(name: string, root: string): readonly string[]
  /** Commands that make it forget a service whose files have been removed. */
  forgetCommands(name: string): readonly ControlCommand[]
  /** Asks the init system about a service. */
  state(name: string): Promise<ServiceState>
  /** The links below `root` by which it starts a service at boot; its own tool may be missing there. */
  links(name: string, root: string): Promise<readonly string[]>
}

/** The names of the init systems that have something, for a message: `systemd and crond`. */
export const namesOf = (systems: readonly InitSystem[], has: (system: InitSystem) => boolean): string =>
  systems
    .filter(has)
    .map(({ name }) => name)
    .join(' and ')

/** The reasons of an init system that does not confine its services. */
export const UNCONFINED = {
  '--memory-max': 'it does not limit a service',
  '--no-hardening': 'it does not sandbox a service',
} as const
