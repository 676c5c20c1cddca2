/** What is wrong with one value; the value itself is not repeated, for it may be a secret. */
export interface Fault {
  field: string
  reason: string
}

/** One line for all of them: `username must not be empty; email must be one e-mail address`. */
export const describeFaults = (faults: readonly Fault[]): string =>
  faults.map(({ field, reason }) => `${field} ${reason}`).join('; ')

/** Throws one error that holds every fault; does nothing when there is none. */
export function refuseFaults(refusal: string, faults: readonly Fault[]): void {
  if (faults.length > 0) throw new Error(`${refusal}: ${describeFaults(faults)}`)
}
