/** An argument that cannot be used, as opposed to a command that fails. */
export class ArgumentError extends Error {}

/** Parses an argument, which is always text, as a whole number between two bounds; throws an ArgumentError. */
export function parseWholeNumber(name: string, text: string, lowest: number, highest: number): number {
  const number = Number(text)
  if (!/^\d+$/.test(text) || number < lowest || number > highest)
    throw new ArgumentError(`${name} must be a whole number from ${lowest} to ${highest}`)
  return number
}
