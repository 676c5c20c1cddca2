/** An argument, which is always text, as a whole number between two bounds; throws when it is none. */
export function parseWholeNumber(name: string, text: string, lowest: number, highest: number): number {
  const number = Number(text)
  if (!/^\d+$/.test(text) || number < lowest || number > highest)
    throw new Error(`${name} must be a whole number from ${lowest} to ${highest}`)
  return number
}
