/** sysexits.h EX_CONFIG: the exit code of a service that refuses its settings. */
export const EXIT_CONFIGURATION = 78

/** What is wrong with the settings: one line for each fault, without values that could be secret. */
export class SettingsError extends Error {
  readonly faults: readonly string[]

  constructor(given: readonly string[]) {
    const faults = [...new Set(given)]
    super(`The settings cannot be used:\n${faults.map((fault) => `  ${fault}`).join('\n')}`)
    this.name = 'SettingsError'
    this.faults = faults
  }
}

/** The faults that `steps` throw as `SettingsError`; any other error is rethrown. */
export const collectFaults = (...steps: (() => unknown)[]): string[] =>
  steps.flatMap((step) => {
    try {
      step()
      return []
    } catch (error) {
      if (error instanceof SettingsError) return error.faults
      throw error
    }
  })
