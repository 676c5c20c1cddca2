const SECONDS_PER_UNIT: Record<string, number> = { ms: 1 / 1000, s: 1, m: 60, h: 3600 }

/** Reads a time such as `5`, `5s`, `500ms` or `2m`, in seconds; undefined for another text. */
export function parseDuration(text: string): number | undefined {
  const [, number, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? []
  return number === undefined ? undefined : Number(number) * (SECONDS_PER_UNIT[unit] ?? 1)
}
