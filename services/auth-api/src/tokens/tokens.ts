import type { Database } from '@latchkey/shared/database/database.ts'
import type { DependencyFailures } from '@latchkey/shared/health/dependency-failures.ts'
import type { Clock, MonotonicClock } from '@latchkey/shared/time/clock.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Config } from '../config.ts'
import type { SessionCaller } from './claims.ts'
import { createClockSkew } from './clock-skew.ts'
import {
  createTokenIssuer,
  createTokenSigner,
  type IssueToken,
  type SignToken,
  type StoreSession,
} from './issue-token.ts'
import { createRequireLogin, type RequireLogin } from './require-login.ts'
import {
  createRevocationRepository,
  type RevocationRepository,
  sessionIdOf,
} from './revocation-repository.ts'
import { createRevokeSession, type RevokeSession } from './revoke-session.ts'
import { importSigningKeys, type PublishedKey } from './signing-keys.ts'
import { createRecordUse, type RecordUse } from './token-pair.ts'
import {
  createGetTokenUser,
  createLockUser,
  createTokenValidity,
  type GetTokenUser,
  type LockUser,
  type TokenValidity,
} from './token-validity.ts'
import { createTokenVerifier, type TokenVerifier } from './verify-token.ts'

export interface TokensDependencies {
  db: Database
  localNow: Clock
  /** The clock of the database, which all replicas share. */
  sharedNow: Clock
  /** Measures how old a remembered status is. The wall clock, set back, would prolong it. */
  elapsed: MonotonicClock
  storeSession: StoreSession
  registry: Registry
  failures: Pick<DependencyFailures, 'reportNamed'>
  logger: Pick<Logger, 'warn'>
}

/** Everything about tokens. */
export interface Tokens {
  /** The public keys of the tokens; none without a private key. */
  publishedKeys: readonly PublishedKey[]
  /** Signs a token. */
  signToken: SignToken
  /** Signs a token of a session that goes on, and stores the session. `issueLogin` answers a login. */
  issueToken: IssueToken
  /** Verifies the signature and the claims of a token. */
  verifier: TokenVerifier
  /** Checks that a token was not revoked, and remembers it for a while. */
  validity: TokenValidity
  /** Requires a second factor or a recent login of a token. */
  requireLogin: RequireLogin
  /** Returns the user of a token that has not ended. */
  getTokenUser: GetTokenUser
  /** Does the same, and locks the user. */
  lockUser: LockUser
  /** The table of revoked and refreshed tokens. */
  revocations: RevocationRepository
  /** Records that a token was used, which ends the one before it. */
  recordUse: RecordUse
  /** Ends a session. */
  revokeSession: RevokeSession
  /** Ends the session of a token that is refreshed after its successor was used: two clients have it. */
  revokeReusedSession: (caller: SessionCaller) => Promise<void>
}

/** Creates the functions that issue, verify, check and revoke tokens. */
export async function createTokens(
  settings: Config['tokens'],
  { db, localNow, sharedNow, elapsed, storeSession, registry, failures, logger }: TokensDependencies,
): Promise<Tokens> {
  const { issuer, lifetimeSeconds, revocationCacheSeconds: cacheSeconds } = settings
  const { current: key, accepted: keys, published: publishedKeys } = await importSigningKeys(settings)
  const signToken = createTokenSigner({ key, issuer, lifetimeSeconds })
  const revocations = createRevocationRepository(db)
  const getTokenUser = createGetTokenUser({
    revocationsIn: createRevocationRepository,
    sharedNow,
  })
  const revokeSession = createRevokeSession({ revocations, lifetimeSeconds, localNow })
  const recordUse = createRecordUse({ revocations, failures, logger, sharedNow })
  const validity = createTokenValidity({
    revocations,
    recordUse,
    cacheSeconds,
    sharedNow,
    elapsed,
  })
  const revokeReusedSession = async ({ claims, audit }: SessionCaller): Promise<void> => {
    await revokeSession(sessionIdOf(claims), claims.exp)
    validity.forgetSession(sessionIdOf(claims))
    audit.report({ name: 'token.reused', userid: claims.sub })
  }
  return {
    publishedKeys,
    signToken,
    issueToken: createTokenIssuer(signToken, storeSession),
    verifier: createTokenVerifier({
      keys,
      issuer,
      localNow,
      onFuture: createClockSkew({ registry, logger, localNow }),
    }),
    validity,
    requireLogin: createRequireLogin(localNow),
    getTokenUser,
    lockUser: createLockUser({ usersIn: createUserRepository, getTokenUser }),
    revocations,
    recordUse,
    revokeSession,
    revokeReusedSession,
  }
}
