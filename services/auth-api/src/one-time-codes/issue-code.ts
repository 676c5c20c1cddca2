import { randomUUID } from 'node:crypto'
import type { CodeSecrets } from './code-secrets.ts'

export interface CodeOptions {
  /** The code is sent nowhere, and no guess may match it. */
  isDecoy: boolean
  now: Date
  ttlSeconds: number
}

/** Creates a code, and what its row stores of it. A decoy causes the same work. */
export function issueCode(
  secrets: Pick<CodeSecrets, 'newCode' | 'hash' | 'hashOfNothing'>,
  { isDecoy, now, ttlSeconds }: CodeOptions,
): { code: string; stored: { id: string; codeHash: string; expiresAt: Date } } {
  const id = randomUUID()
  const code = secrets.newCode()
  const [codeHash, unmatched] = [secrets.hash(id, code), secrets.hashOfNothing()]
  const expiresAt = new Date(now.getTime() + ttlSeconds * 1000)
  return { code, stored: { id, codeHash: isDecoy ? unmatched : codeHash, expiresAt } }
}

/** Below this, whole minutes are too coarse for a mail. */
const SHORT_TTL_SECONDS = 120

/** How long a code works, as a mail says it: never longer than it does, unless that is less than a minute. */
export const lifetimeOf = (ttlSeconds: number): { minutes: number; seconds?: number } => ({
  minutes: Math.max(1, Math.floor(ttlSeconds / 60)),
  ...(ttlSeconds < SHORT_TTL_SECONDS ? { seconds: ttlSeconds } : {}),
})
