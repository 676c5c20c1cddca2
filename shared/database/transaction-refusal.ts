/** Why a transaction takes no further statement: the first one that failed, or its end. */
export function createRefusal() {
  let refusal: { error: unknown } | undefined
  /** Records why, unless something is recorded; returns what every later statement fails with. */
  const record = (error: unknown): unknown => {
    refusal ??= { error }
    return refusal.error
  }
  return {
    record,
    /** A later statement would run outside of the transaction, or in that of another request. */
    end: (): void => void record(new Error('The transaction has ended')),
    /** Throws once something is recorded. */
    check(): void {
      if (refusal) throw refusal.error
    },
  }
}
