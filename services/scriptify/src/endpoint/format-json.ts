declare global {
  interface JSON {
    /** Text that stringify takes over as it stands (ECMAScript 2026). */
    rawJSON(text: string): unknown
  }
}

/** Sets JSON out in lines, numbers digit for digit as they came; text that is not JSON stays as it is. */
export function formatJson(text: string): string {
  try {
    const value: unknown = JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
      typeof value === 'number' && context?.source !== undefined ? JSON.rawJSON(context.source) : value,
    )
    return quiet(JSON.stringify(value, null, 2))
  } catch {
    return text.trimEnd()
  }
}

/** JSON leaves these control characters as they are; a terminal obeys some of them. */
const quiet = (json: string): string =>
  json.replace(/[\x7f-\x9f]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`)
