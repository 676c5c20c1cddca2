import { revokeUserTokens } from '@latchkey/shared/users/valid-from.ts'
import type { Core } from '../../core.ts'
import type { SessionCaller } from '../../tokens/claims.ts'
import { sessionIdOf } from '../../tokens/revocation-repository.ts'

type LogOutCore = Pick<
  Core,
  'revokeSession' | 'validity' | 'transaction' | 'usersIn' | 'lockUser' | 'localNow'
>

/**
 * Ends the session of an access or refresh token. With `everywhere`, ends every token issued to the user so far, and throws `invalid_token` when
 * the caller's own token has ended.
 */
export async function logOut(
  core: LogOutCore,
  caller: SessionCaller,
  { everywhere }: { everywhere: boolean },
): Promise<void> {
  try {
    await (everywhere ? endAllSessions(core, caller) : endOneSession(core, caller))
  } finally {
    // The tokens of the session are refused here at once; on other replicas within REVOCATION_CACHE.
    core.validity.forgetSession(sessionIdOf(caller.claims))
  }
}

async function endOneSession({ revokeSession }: LogOutCore, { claims, audit }: SessionCaller): Promise<void> {
  await revokeSession(sessionIdOf(claims), claims.exp)
  audit.report({ name: 'session.logged_out', userid: claims.sub })
}

/** A token that has ended ends no other, although this replica may remember it as valid. */
const endAllSessions = (core: LogOutCore, { claims, audit }: SessionCaller): Promise<void> =>
  core.transaction(async (db) => {
    const user = await core.lockUser(db, claims)
    await Promise.all([
      revokeUserTokens(core.usersIn(db), user, core.localNow()),
      audit.write(db, { name: 'sessions.logged_out', userid: user.userid }),
    ])
  })
