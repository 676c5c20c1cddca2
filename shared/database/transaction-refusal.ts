/** Why a transaction takes no further statement: the first one that failed, or its end. */
export function createRefusal() {
  let refusal: (() => unknown) | undefined
  /** Records why, unless something is recorded; returns what every later statement fails with. */
  const record = (error: unknown): unknown => {
    refusal ??= () => error
    return refusal()
  }
  return {
    record,
    /** A later statement would run outside of the transaction, or in that of another request. */
    end(): void {
      refusal ??= createEndError
    },
    /** Throws once something is recorded. */
    check(): void {
      if (refusal) throw refusal()
    },
  }
}

/** Created when it is thrown: every transaction ends, and capturing a stack takes 5 % of a short one's processor time. */
const createEndError = () => new Error('The transaction has ended')
