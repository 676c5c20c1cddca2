/** Reads php's notation, which SCRIPTIFY_MEMORY_LIMIT has for both runtimes: 256M, 1G, bytes. */
export function megabytes(limit: string | undefined): number | undefined {
  const [, digits, unit = ''] = /^(\d+)([KMG]?)$/i.exec(limit ?? '') ?? []
  if (digits === undefined) return undefined
  const factor = { '': 1 / 1024 ** 2, K: 1 / 1024, M: 1, G: 1024 }[unit.toUpperCase()] ?? 1
  return Math.max(32, Math.round(Number(digits) * factor))
}
