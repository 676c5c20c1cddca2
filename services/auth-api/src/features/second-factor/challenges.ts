import { createSecretKey, hkdfSync, randomUUID } from 'node:crypto'
import type { Queryable } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { type Clock, toNumericDate } from '@latchkey/shared/time/clock.ts'
import { type User, validFromOf } from '@latchkey/shared/users/user.ts'
import { jwtVerify, SignJWT } from 'jose'
import { z } from 'zod'
import type { Claims } from '../../tokens/claims.ts'
import { createRevocationRepository } from '../../tokens/revocation-repository.ts'
import type { AccountGuard, GuardedUser } from '../account/account-guard.ts'

/** Time in which a challenge can be answered. */
export const CHALLENGE_SECONDS = 300
/** Time in which what a user has to write down or set up can be confirmed. */
export const ENROLMENT_SECONDS = 900

/**
 * The purposes of challenges; a challenge for another purpose is refused. `latchkey-passkey` is for a login by a passkey alone, before
 * which nobody knows the user.
 */
const PURPOSES = [
  'latchkey-second-factor',
  'latchkey-passkey',
  'latchkey-passkey-stepup',
  'latchkey-passkey-registration',
  'latchkey-recovery-codes',
] as const
export type ChallengePurpose = (typeof PURPOSES)[number]

/** The subject of a challenge that is for any user (RFC 9562 §5.9). */
const NOBODY = '00000000-0000-0000-0000-000000000000'

const TYPE = 'latchkey-challenge+jwt'

const Challenge = z.object({
  aud: z.enum(PURPOSES),
  sub: z.guid(),
  jti: z.guid(),
  exp: z.number(),
  /** The valid-from time of the user. A later one, as after a change of the password, ends the challenge. */
  valid_from: z.number(),
  /** What guarded the account when the challenge was issued; empty where it is for any user. */
  begun_under: z.string(),
  /** The recovery codes that the challenge confirms, sealed. */
  codes: z.string().optional(),
  /** The codes that they replace. */
  replaces: z.array(z.string()).optional(),
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

/** Whom a challenge is for, and under what. */
export interface ChallengeSubject {
  user: User
  begunUnder: string
  codes?: string
  replaces?: string[]
}

/**
 * Creates and checks challenges: signed texts, each for one answer of a client, such as the second step of a login. The
 * key, the type and the audience are others than those of access tokens, so that neither is taken for the other.
 */
export function createChallenges({ secret, previousSecret, guard, localNow }: ChallengesDependencies) {
  const key = toKey(secret)
  const keys = previousSecret ? [key, toKey(previousSecret)] : [key]

  async function verify(text: string, purposes: readonly ChallengePurpose[]): Promise<unknown> {
    for (const each of keys) {
      const verified = await jwtVerify(text, each, {
        algorithms: ['HS256'],
        typ: TYPE,
        audience: [...purposes],
        currentDate: new Date(localNow()),
      }).catch(() => undefined)
      if (verified) return verified.payload
    }
    throw challengeRefused()
  }

  /** Requires that the guards of the account are those under which the challenge was issued, or fewer. */
  function allow(db: Queryable, user: User, challenge: Challenge, claims?: Claims): Promise<GuardedUser> {
    const { sub, valid_from, begun_under: begunUnder } = challenge
    if (user.userid !== sub || validFromOf(user) !== valid_from) throw challengeRefused()
    return guard.allow(db, user, { begunUnder, claims, refuse: challengeRefused })
  }

  async function useOnce(db: Queryable, { jti, exp }: Challenge): Promise<void> {
    const revocations = createRevocationRepository(db)
    if (!(await revocations.useOnce(jti, new Date(localNow()), new Date(exp * 1000))))
      throw challengeRefused()
  }

  return {
    /** Issues a challenge for a user, or for any user. */
    issue: (purpose: ChallengePurpose, subject?: ChallengeSubject): Promise<string> =>
      new SignJWT({
        valid_from: subject ? validFromOf(subject.user) : 0,
        begun_under: subject?.begunUnder ?? '',
        codes: subject?.codes,
        replaces: subject?.replaces,
      })
        .setProtectedHeader({ alg: 'HS256', typ: TYPE })
        .setAudience(purpose)
        .setSubject(subject?.user.userid ?? NOBODY)
        .setJti(randomUUID())
        .setExpirationTime(
          toNumericDate(localNow()) + (subject?.codes ? ENROLMENT_SECONDS : CHALLENGE_SECONDS),
        )
        .sign(key),

    /** Throws `challenge_refused`. */
    async read(text: string, ...purposes: readonly ChallengePurpose[]): Promise<Challenge> {
      const challenge = Challenge.safeParse(await verify(text, purposes))
      if (!challenge.success) throw challengeRefused()
      return challenge.data
    },

    /**
     * Uses the challenge of a locked user, which a factor answers. Throws `challenge_refused` when it was used, or has ended: also
     * when a new password or a further factor guards the account by now.
     */
    async use(db: Queryable, user: User, challenge: Challenge): Promise<void> {
      if (challenge.aud !== 'latchkey-passkey') await allow(db, user, challenge)
      await useOnce(db, challenge)
    },

    /** Uses the challenge by which a token's user completes a change. Throws what `use` and the guard throw. */
    async complete(db: Queryable, user: User, challenge: Challenge, claims: Claims): Promise<GuardedUser> {
      const guarded = await allow(db, user, challenge, claims)
      await useOnce(db, challenge)
      return guarded
    },
  }
}

const toKey = (secret: Uint8Array) =>
  createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', 'latchkey challenge', 32)))

export const challengeRefused = () =>
  new AppError('challenge_refused', 'The challenge is not valid, has expired or was used; begin again')
