import { createSecretKey, hkdfSync, type KeyObject, randomUUID } from 'node:crypto'
import type { Queryable } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { type Clock, toNumericDate } from '@latchkey/shared/time/clock.ts'
import { type User, validFromOf } from '@latchkey/shared/users/user.ts'
import { type JWTVerifyOptions, jwtVerify, SignJWT } from 'jose'
import { z } from 'zod'
import { CHALLENGE_SECONDS } from '../../limits/factor-limiter.ts'
import type { Claims } from '../../tokens/claims.ts'
import { createRevocationRepository } from '../../tokens/revocation-repository.ts'
import type { AccountGuard, GuardedUser } from '../account/account-guard.ts'

/** Time in which an enrolment, or what a user has to write down, can be confirmed. */
export const ENROLMENT_SECONDS = 900

/** The purpose of a challenge; a challenge for another purpose is refused. A kind of factor has further ones. */
export type ChallengePurpose = `latchkey-${string}`

/** The second step of a login, after the password. */
export const LOGIN: ChallengePurpose = 'latchkey-second-factor'
/** A login by a factor alone, before which nobody knows the user. */
export const LOGIN_WITHOUT_PASSWORD: ChallengePurpose = 'latchkey-passkey'

/** The subject of a challenge that is for any user (RFC 9562 §5.9). */
const NOBODY = '00000000-0000-0000-0000-000000000000'

const TYPE = 'latchkey-challenge+jwt'

const Challenge = z.object({
  aud: z.string(),
  sub: z.guid(),
  jti: z.guid(),
  exp: z.number(),
  /** The valid-from time of the user. A later one, as after a change of the password, ends the challenge. */
  valid_from: z.number(),
  /** The guard of the account when the challenge was issued; empty where it is for any user. */
  begun_under: z.string(),
  /** How the user has shown the first factor, as `amr` says it. */
  first: z.array(z.string()).optional(),
  /** The text that the challenge confirms, sealed. */
  content: z.string().optional(),
})

export type Challenge = z.output<typeof Challenge>

/** A challenge as a client sends it. */
export const challengeText = () =>
  z.string('must be a string').min(1, 'must not be empty').max(2_048, 'is too long')

export interface ChallengesDependencies {
  /** FACTOR_SECRET, from which the key is derived: no key of access tokens signs a challenge. */
  secret: Uint8Array
  previousSecret: Uint8Array | undefined
  guard: Pick<AccountGuard, 'allow'>
  localNow: Clock
}

/** The user of a challenge, and what guards the account. */
export interface ChallengeSubject {
  user: User
  begunUnder: string
  /** How the user has shown the first factor, as `amr` says it. */
  first?: readonly string[]
  /** The text that the user has to write down before the challenge is answered, sealed. */
  content?: string
}

export type Challenges = ReturnType<typeof createChallenges>

/**
 * Creates and checks challenges: signed texts, each for one answer of a client, such as the second step of a login. The
 * key, the type and the audience are others than those of access tokens, so that neither is taken for the other.
 */
export function createChallenges({ secret, previousSecret, guard, localNow }: ChallengesDependencies) {
  const key = toKey(secret)
  const keys = previousSecret ? [key, toKey(previousSecret)] : [key]

  /** Requires that the guards of the account are those under which the challenge was issued, or fewer. */
  function allow(db: Queryable, user: User, challenge: Challenge, claims?: Claims): Promise<GuardedUser> {
    const { sub, valid_from, begun_under: begunUnder } = challenge
    if (user.userid !== sub || validFromOf(user) !== valid_from) throw challengeRefused()
    return guard.allow(db, user, { begunUnder, claims, refuse: challengeRefused })
  }

  return {
    /** Issues a challenge for a user, or for any user. */
    issue: (purpose: ChallengePurpose, subject?: ChallengeSubject): Promise<string> =>
      signChallenge(purpose, subject, key, localNow()),

    /** Throws `challenge_refused`. */
    async read(text: string, ...purposes: readonly ChallengePurpose[]): Promise<Challenge> {
      const currentDate = new Date(localNow())
      const payload = await verifySignature(text, keys, { audience: [...purposes], currentDate })
      const challenge = Challenge.safeParse(payload)
      if (!challenge.success) throw challengeRefused()
      return challenge.data
    },

    /**
     * Uses the challenge of a locked user, which a factor answers. Throws `challenge_refused` when it was used, or has ended: also
     * when a new password or a further factor guards the account by now.
     */
    async use(db: Queryable, user: User, challenge: Challenge): Promise<void> {
      if (challenge.aud !== LOGIN_WITHOUT_PASSWORD) await allow(db, user, challenge)
      await useOnce(db, challenge, localNow())
    },

    /** Uses the challenge by which a token's user completes a change. Throws what `use` and the guard throw. */
    async complete(db: Queryable, user: User, challenge: Challenge, claims: Claims): Promise<GuardedUser> {
      const guarded = await allow(db, user, challenge, claims)
      await useOnce(db, challenge, localNow())
      return guarded
    },
  }
}

const signChallenge = (
  purpose: ChallengePurpose,
  subject: ChallengeSubject | undefined,
  key: KeyObject,
  now: number,
): Promise<string> =>
  new SignJWT({
    valid_from: subject ? validFromOf(subject.user) : 0,
    begun_under: subject?.begunUnder ?? '',
    first: subject?.first,
    content: subject?.content,
  })
    .setProtectedHeader({ alg: 'HS256', typ: TYPE })
    .setAudience(purpose)
    .setSubject(subject?.user.userid ?? NOBODY)
    .setJti(randomUUID())
    .setExpirationTime(toNumericDate(now) + (subject?.content ? ENROLMENT_SECONDS : CHALLENGE_SECONDS))
    .sign(key)

async function verifySignature(
  text: string,
  keys: readonly KeyObject[],
  expected: Pick<JWTVerifyOptions, 'audience' | 'currentDate'>,
): Promise<unknown> {
  for (const key of keys) {
    const options = { ...expected, algorithms: ['HS256'], typ: TYPE }
    const verified = await jwtVerify(text, key, options).catch(() => undefined)
    if (verified) return verified.payload
  }
  throw challengeRefused()
}

async function useOnce(db: Queryable, { jti, exp }: Challenge, now: number): Promise<void> {
  const isFirst = await createRevocationRepository(db).useOnce(jti, new Date(now), new Date(exp * 1000))
  if (!isFirst) throw challengeRefused()
}

const toKey = (secret: Uint8Array): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', 'latchkey challenge', 32)))

export const challengeRefused = () =>
  new AppError('challenge_refused', 'The challenge is not valid, has expired or was used')
