declare global {
  interface JSON {
    /** Marks a text that stringify copies unchanged (ECMAScript 2026). */
    rawJSON(text: string): unknown
  }
}

/** Indents JSON and keeps each number digit for digit; a text that is not JSON stays unchanged. */
export function formatJson(text: string): string {
  try {
    const value: unknown = JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
      typeof value === 'number' && context?.source !== undefined ? JSON.rawJSON(context.source) : value,
    )
    return JSON.stringify(value, null, 2)
  } catch {
    return text.trimEnd()
  }
}
