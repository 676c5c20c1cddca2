import type { Client } from '../../http/client.ts'
import type { KnownAddresses } from '../../limits/known-addresses.ts'
import type { IssuedToken } from '../../tokens/issue-token.ts'
import type { SecondFactor } from './second-factor.ts'
import { codeKindOf, type VerifyCode } from './verify-code.ts'

export interface AnswerChallengeDependencies {
  secondFactor: Pick<SecondFactor, 'challenges' | 'answer' | 'factorAttempts' | 'guessTotal'>
  knownAddresses: Pick<KnownAddresses, 'has'>
  verifyCode: VerifyCode
}

/** The second step of a login. */
export interface ChallengeAnswer {
  challenge: string
  code: string
}

/**
 * Creates the function that exchanges the challenge of a login and a code for a token. Throws `challenge_refused`, `second_factor_refused` and
 * `password_exposed`.
 */
export const createAnswerChallenge =
  ({ secondFactor, knownAddresses, verifyCode }: AnswerChallengeDependencies) =>
  async (given: ChallengeAnswer, client: Client): Promise<IssuedToken> => {
    const { code } = given
    const { audit } = client
    const challenge = await secondFactor.challenges.read(given.challenge, 'latchkey-second-factor')
    const { sub: userid, jti } = challenge
    const kind = codeKindOf(code)
    const attempt = { userid, challenge: jti, kind, followsPassword: true }
    const verify = verifyCode(code, audit)
    return secondFactor.factorAttempts.logIn(client, attempt, async () => {
      const canBeGuessed = kind === 'totp' && !(await knownAddresses.has(client.request, userid))
      if (!canBeGuessed) return secondFactor.answer(challenge, verify, audit)
      return secondFactor.guessTotal.limit(userid, audit.address, () =>
        secondFactor.answer(challenge, verify, audit),
      )
    })
  }
