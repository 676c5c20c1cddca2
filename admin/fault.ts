/** A fault of a value. It does not contain the value, which may be a secret. */
export interface Fault {
  field: string
  reason: string
}

/** All faults in one line: `username must not be empty; email must be one e-mail address`. */
export const describeFaults = (faults: readonly Fault[]): string =>
  faults.map(({ field, reason }) => `${field} ${reason}`).join('; ')

/** Throws one error with every fault, if there is any. */
export function requireNoFaults(refusal: string, faults: readonly Fault[]): void {
  if (faults.length > 0) throw new Error(`${refusal}: ${describeFaults(faults)}`)
}

/** An argument that cannot be used, as opposed to a command that fails. */
export class ArgumentError extends Error {}

/** Parses an argument, which is always text, as a whole number between two bounds; throws an ArgumentError. */
export function parseWholeNumber(name: string, text: string, lowest: number, highest: number): number {
  const number = Number(text)
  if (!/^\d+$/.test(text) || number < lowest || number > highest)
    throw new ArgumentError(`${name} must be a whole number from ${lowest} to ${highest}`)
  return number
}
