/** sysexits.h EX_CONFIG: the exit code of a service that refuses its settings. */
export const EXIT_CONFIGURATION = 78

/** The error for settings that cannot be used: one line for each fault, without values that could be secret. */
export class SettingsError extends Error {
  readonly faults: readonly string[]

  constructor(given: readonly string[]) {
    const faults = [...new Set(given)]
    super(`The settings cannot be used:\n${faults.map((fault) => `  ${fault}`).join('\n')}`)
    this.name = 'SettingsError'
    this.faults = faults
  }
}

/** Returns the faults that `steps` throw as `SettingsError`; any other error is rethrown. */
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

/** Returns the results of both steps, which both run; throws one `SettingsError` with the faults of both, or any other error. */
export async function parseBoth<First, Second>(
  first: () => First | Promise<First>,
  second: () => Second | Promise<Second>,
) {
  const both = [(async () => first())(), (async () => second())()] as const
  const settled = await Promise.allSettled(both)
  const faults = settled.flatMap((each) => (each.status === 'rejected' ? findFaults(each.reason) : []))
  if (faults.length > 0) throw new SettingsError(faults)
  return Promise.all(both)
}

const findFaults = (error: unknown): readonly string[] => (error instanceof SettingsError ? error.faults : [])
