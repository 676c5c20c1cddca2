import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { createAnswerChallenge } from './answer-challenge.ts'
import { createManageFactors } from './manage-factors.ts'
import { factorRoutes } from './routes.ts'
import { createStepUp } from './step-up.ts'
import { createEnrolTotp } from './totp/enrol-totp.ts'
import { createVerifyCode } from './verify-code.ts'

/** Adds second factors, the second step of a login, and the step-up of a token, where SECOND_FACTOR is `on`. */
export async function addFactors(app: FastifyInstance, config: Config, core: Core): Promise<void> {
  const { db, transaction, secondFactor, notify, guard, localNow } = core
  const { clientOf, loggedInClientOf } = core
  const { knownAddresses, getTokenUser, lockUser, issueToken } = core
  if (!secondFactor) return
  const verifyCode = createVerifyCode({ ...secondFactor, notify, localNow })
  const answer = createAnswerChallenge({ secondFactor, knownAddresses, verifyCode })
  const stepUp = createStepUp({
    db,
    getTokenUser,
    secondFactor,
    verifyCode,
    guard,
    issueToken,
    localNow,
  })
  const { productName } = config.secondFactor
  const enrolTotp = createEnrolTotp({ guard, secondFactor, productName, localNow })
  const factors = createManageFactors({ db, transaction, guard, lockUser, secondFactor, notify, localNow })
  await app.register(factorRoutes, {
    answer: (given, request) => answer(given, clientOf(request)),
    stepUp: (given, request) => stepUp(given, loggedInClientOf(request)),
    list: (request) => factors.list(request.jwt.sub),
    beginTotp: (given, request) => enrolTotp.begin(given, loggedInClientOf(request)),
    confirmTotp: (code, request) => enrolTotp.confirm(code, loggedInClientOf(request)),
    rename: (id, name, request) => factors.rename(loggedInClientOf(request), id, name),
    remove: (id, request) => factors.remove(loggedInClientOf(request), id),
    createRecoveryCodes: (request) => factors.createRecoveryCodes(loggedInClientOf(request)),
    confirmRecoveryCodes: (challenge, request) =>
      factors.confirmRecoveryCodes(loggedInClientOf(request), challenge),
  })
}
