import { randomUUID } from 'node:crypto'
import type { CodeSecrets } from './code-secrets.ts'

export interface CodeOptions {
  /** True for a code that is sent nowhere, and that no guess may match. */
  isDecoy: boolean
  now: Date
  ttlSeconds: number
}

/** Creates a code, and what its row stores of it. A decoy causes the same work. */
export function issueCode(
  secrets: Pick<CodeSecrets, 'generateCode' | 'hash' | 'unmatchableHash'>,
  { isDecoy, now, ttlSeconds }: CodeOptions,
): { code: string; stored: { id: string; codeHash: string; expiresAt: Date } } {
  const id = randomUUID()
  const code = secrets.generateCode()
  const [codeHash, unmatched] = [secrets.hash(id, code), secrets.unmatchableHash()]
  const expiresAt = new Date(now.getTime() + ttlSeconds * 1000)
  return { code, stored: { id, codeHash: isDecoy ? unmatched : codeHash, expiresAt } }
}

/** A mail names a shorter lifetime in seconds: whole minutes would be too coarse. */
const SHORT_TTL_SECONDS = 120

/** Returns the lifetime of a code as a mail names it: rounded down to minutes, but at least one. */
export const lifetimeOf = (ttlSeconds: number): { minutes: number; seconds?: number } => ({
  minutes: Math.max(1, Math.floor(ttlSeconds / 60)),
  ...(ttlSeconds < SHORT_TTL_SECONDS ? { seconds: ttlSeconds } : {}),
})
