/** Below this, whole minutes are too coarse for a mail. */
const SHORT_TTL_SECONDS = 120

/** How long a code works, as a mail says it: never longer than it does, unless that is less than a minute. */
export const lifetimeOf = (ttlSeconds: number): { minutes: number; seconds?: number } => ({
  minutes: Math.max(1, Math.floor(ttlSeconds / 60)),
  ...(ttlSeconds < SHORT_TTL_SECONDS ? { seconds: ttlSeconds } : {}),
})
