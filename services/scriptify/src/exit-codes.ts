/** What scriptify's exit status means, the same for every command. */
export const EXIT = { ok: 0, failed: 1, usage: 2, notFound: 3, notPermitted: 4, runtimeMissing: 5 } as const
