/** How many attempts of each key are in hand in this process. */
export function createInHand() {
  const counts = new Map<string, number>()
  return {
    count: (key: string): number => counts.get(key) ?? 0,
    /** Counts one attempt for each key; returns what ends it. */
    take(keys: readonly string[]): () => void {
      for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
      return () => {
        for (const key of keys) {
          const left = (counts.get(key) ?? 1) - 1
          if (left > 0) counts.set(key, left)
          else counts.delete(key)
        }
      }
    },
  }
}
