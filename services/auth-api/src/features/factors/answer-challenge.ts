import type { Client } from '../../client.ts'
import type { SecondFactor } from '../../second-factor/second-factor.ts'
import type { IssuedToken } from '../../tokens/issue-token.ts'
import { codeKindOf, type VerifyCode } from './verify-code.ts'

export interface AnswerChallengeDependencies {
  secondFactor: Pick<SecondFactor, 'challenges' | 'answer' | 'factorAttempts'>
  verifyCode: VerifyCode
}

/** The second step of a login. */
export interface ChallengeAnswer {
  challenge: string
  code: string
}

/** Creates the function that exchanges the challenge of a login and a code for a token. Throws `challenge_refused` and `second_factor_refused`. */
export const createAnswerChallenge =
  ({ secondFactor, verifyCode }: AnswerChallengeDependencies) =>
  async (given: ChallengeAnswer, client: Client): Promise<IssuedToken> => {
    const { code } = given
    const { audit } = client
    const challenge = await secondFactor.challenges.read(given.challenge, 'latchkey-second-factor')
    const attempt = {
      userid: challenge.sub,
      challenge: challenge.jti,
      kind: codeKindOf(code),
      followsPassword: true,
    }
    return secondFactor.factorAttempts.logIn(client, attempt, () =>
      secondFactor.answer(challenge, verifyCode(code, audit), audit),
    )
  }
