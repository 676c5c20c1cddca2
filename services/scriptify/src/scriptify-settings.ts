interface Setting {
  readonly name: string
  /** True where an installed service keeps the value that its installation had. */
  readonly isKept: boolean
}

/** The environment variables that users set for scriptify itself. An empty one counts as unset. */
export const SETTINGS = {
  /** The php to run. Default: the one in PATH. */
  phpBinary: { name: 'SCRIPTIFY_PHP_BINARY', isKept: true },
  /** The memory of php, or the heap of Node, in php's notation. */
  memoryLimit: { name: 'SCRIPTIFY_MEMORY_LIMIT', isKept: true },
  /** The file that loads the project's classes, relative to the root directory. */
  bootloader: { name: 'SCRIPTIFY_BOOTLOADER', isKept: true },
  /** Any value: errors of scriptify with their stack, and `run` as with --trace. */
  debug: { name: 'SCRIPTIFY_DEBUG', isKept: false },
} as const satisfies Record<string, Setting>

/** The settings that an installed service keeps, by their names. */
export const findKeptSettings = (env: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(
    Object.values(SETTINGS).flatMap(({ name, isKept }) => {
      const value = env[name]
      return isKept && value ? [[name, value]] : []
    }),
  )
