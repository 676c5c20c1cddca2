/** Parses a repeatable option for commander: all its values, in order. */
export const collect = (value: string, values: string[] = []): string[] => [...values, value]
