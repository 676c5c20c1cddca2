/** The message of anything that was thrown. Separate from shared's: installed services run without that package. */
export const errorMessage = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)
