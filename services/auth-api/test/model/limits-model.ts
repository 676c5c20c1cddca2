/** The limits of the model's replicas. */
export interface Limits {
  readonly failures: number
  readonly resets: number
}

/** Low ones are reached by many sequences; behind high ones the sequences reach everything else. */
export const LIMITS: Readonly<Record<'low' | 'high', Limits>> = {
  low: { failures: 3, resets: 3 },
  high: { failures: 12, resets: 12 },
}

/** Beyond its limit an account is granted one reset from each further address, up to this multiple of the limit. */
const CEILING_FACTOR = 3

export interface LimitedCall {
  replica: number
  address: string
  account: string
}

/** The reset of an account; a change of e-mail by the account, and to the address; a sign-up with the address. */
export type LimitedMail = 'reset' | 'email-change' | 'email-change-to' | 'sign-up'

export type LimitsModel = ReturnType<typeof createLimitsModel>

/**
 * Creates a model of what the limits count, in one window: a sequence of steps is shorter than the shortest. Replicas without a common store
 * count on their own.
 */
export function createLimitsModel({ areShared, limits }: { areShared: boolean; limits: Limits }) {
  const counts = new Map<string, number>()
  const keyOf = (what: string, { replica }: LimitedCall, key: string) =>
    `${what} ${areShared ? 'all' : replica} ${key}`
  const read = (what: string, call: LimitedCall, key: string) => counts.get(keyOf(what, call, key)) ?? 0
  const count = (what: string, call: LimitedCall, key: string) => {
    const counted = read(what, call, key) + 1
    counts.set(keyOf(what, call, key), counted)
    return counted
  }
  const pairOf = ({ address, account }: LimitedCall) => `${address} ${account}`

  function maySpend(what: LimitedMail, call: LimitedCall): boolean {
    const pair = pairOf(call)
    if (read('known', call, pair) > 0) return count(`${what}-pair`, call, pair) <= limits.resets
    const spent = read(`${what}-account`, call, call.account)
    if (spent >= CEILING_FACTOR * limits.resets) return false
    if (spent >= limits.resets && read(`${what}-pair`, call, pair) > 0) return false
    count(`${what}-pair`, call, pair)
    count(`${what}-account`, call, call.account)
    return true
  }

  return {
    /** True where a login, or a change of e-mail, may be tried. */
    mayTry(what: 'login' | 'email', call: LimitedCall): boolean {
      const isOwnFirst = read(`${what}-pair`, call, pairOf(call)) === 0
      const ofAccount = read(`${what}-account`, call, call.account)
      const ofAddress = read(`${what}-address`, call, call.address)
      return ofAddress < limits.failures && (ofAccount < limits.failures || isOwnFirst)
    },
    countFailure(what: 'login' | 'email', call: LimitedCall): void {
      count(`${what}-address`, call, call.address)
      count(`${what}-account`, call, call.account)
      count(`${what}-pair`, call, pairOf(call))
    },
    /** A login that succeeded: the address is known for the account. */
    remember: (call: LimitedCall): void => void count('known', call, pairOf(call)),
    /** Counts a request that sends a mail; false when it is refused. */
    mayMail: (what: LimitedMail, call: LimitedCall): boolean =>
      count(`${what}-address`, call, call.address) <= limits.resets && maySpend(what, call),
  }
}
