/** A service to install, whose options have been checked. Its files are rendered from it. */
export interface Service {
  readonly name: string
  /** `/`, or the folder at which the file system of the host that runs the service is mounted. */
  readonly root: string
  /** The description, in one line. */
  readonly description: string
  /** The words to execute, first the absolute path of a program. */
  readonly command: readonly [string, ...string[]]
  /** The words of the command that may be paths of files. The others are options of its program. */
  readonly possiblePaths: readonly string[]
  /** Seconds between two calls of the method until the service is stopped; undefined for a single call. */
  readonly interval: number | undefined
  /** The absolute path of the working directory, as the host that runs the service sees it. */
  readonly rootdir: string
  /** Name of an account; undefined for root. */
  readonly user: string | undefined
  /** Name of a group; undefined for the account's own. */
  readonly group: string | undefined
  readonly environment: Readonly<Record<string, string>>
  /** The times of its runs; undefined for a service that runs all the time. */
  readonly schedule: string | undefined
  /** True where the service is sandboxed. */
  readonly hardened: boolean
  /** Number of bytes, optionally followed by K, M, G or T. */
  readonly memoryMax: string | undefined
  /** The ends of its process after which the init system starts it again. */
  readonly restart: RestartPolicy
  /** The services after which it starts at boot. */
  readonly after: readonly string[]
}

export const RESTART_POLICIES = ['on-failure', 'always', 'no'] as const
export type RestartPolicy = (typeof RESTART_POLICIES)[number]
