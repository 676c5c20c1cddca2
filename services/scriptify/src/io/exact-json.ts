/** True where JavaScript can hold the number of a text: not Infinity, another integer, or 0 in place of a small one. */
export function isSameNumber(text: string): boolean {
  const number = Number(text)
  if (number === 0) return !/^[^e]*[1-9]/i.test(text)
  return /^\s*[+-]?\d+\s*$/.test(text)
    ? Number.isFinite(number) && BigInt(text.replace('+', '')) === BigInt(number)
    : Number.isFinite(number)
}

/** Parses JSON; throws a SyntaxError also for a number that would become another one. */
export const parseExactJson = (text: string): unknown =>
  JSON.parse(text, (_key, value: unknown, context?: { source?: string }) => {
    const source = context?.source ?? ''
    if (typeof value === 'number' && !isSameNumber(source))
      throw new SyntaxError(`${source} would become ${value}: give it as a string`)
    return value
  })
