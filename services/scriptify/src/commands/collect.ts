/** Commander's parser of an option that may be given again: all its values, in order. */
export const collect = (value: string, values: string[] = []): string[] => [...values, value]
