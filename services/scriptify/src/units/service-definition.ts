/** What the files of a service are rendered from; every text has been checked by `parseService`. */
export interface ServiceDefinition {
  readonly name: string
  /** The description, in one line. */
  readonly description: string
  /** The words to execute, first the absolute path of a program. */
  readonly command: readonly [string, ...string[]]
  /** The words that may be paths of files that the command needs: the others are options of its program. */
  readonly possiblePaths: readonly string[]
  /** Whether the command calls its method repeatedly until it is stopped. */
  readonly daemon: boolean
  /** The absolute path of the working directory. */
  readonly rootdir: string
  /** Name of an account; undefined for root. */
  readonly user: string | undefined
  /** Name of a group; undefined for the account's own. */
  readonly group: string | undefined
  readonly environment: Readonly<Record<string, string>>
  /** The times of its runs; undefined for a service that runs all the time. */
  readonly schedule: string | undefined
  /** Whether the service is sandboxed. */
  readonly hardened: boolean
  /** Whether the service gets its own /tmp. */
  readonly privateTmp: boolean
  /** Number of bytes, optionally followed by K, M, G or T. */
  readonly memoryMax: string | undefined
}
