import { currentPasswordSchema } from '@latchkey/shared/passwords/password-policy.ts'
import { displayName } from '@latchkey/shared/users/account-names.ts'
import type { Factor } from '@latchkey/shared/users/factor-repository.ts'
import { FACTOR_KINDS } from '@latchkey/shared/users/user-factors.ts'
import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { FACTOR_NOT_YET_REQUIRED } from '../../http/authenticate.ts'
import type { IssuedToken } from '../../tokens/issue-token.ts'
import { EnrolledFactor, TokenResponse, toEnrolledFactor } from '../../tokens/token-response.ts'
import { sixDigitCodeSchema } from '../one-time-codes/code-schemas.ts'
import type { ChallengeAnswer } from './answer-challenge.ts'
import { challengeText } from './challenges.ts'
import type { NewCodes } from './manage-factors.ts'
import type { Enrolled } from './second-factor.ts'
import type { StepUp } from './step-up.ts'
import type { Enrolment, TotpRequest } from './totp/enrol-totp.ts'

const SECRET = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
const RECOVERY_CODE = '7k3m-q2xw-9dfr'

/** A code as users type it: apps show six digits in two groups. */
const anyCode = () =>
  z
    .string('must be a string')
    .max(40, 'is too long')
    .transform((code) => code.replaceAll(/\s/g, ''))
    .refine((code) => code !== '', 'must not be empty')
    .describe('The code of an authenticator app, or a recovery code.')

const SecondFactorBody = z
  .object(
    {
      challenge: challengeText().describe('The `challenge` of the login.'),
      code: anyCode(),
    },
    'must be a JSON object',
  )
  .meta({ id: 'SecondFactor', examples: [{ challenge: 'eyJ0eXAi…', code: '042711' }] })

const StepUpBody = z
  .object(
    {
      code: anyCode().optional(),
      current_password: currentPasswordSchema().describe(
        'In place of a code, for a user without a second factor. A user without a password leaves it out too.',
      ),
    },
    'must be a JSON object',
  )
  .refine(
    (given) => given.code === undefined || given.current_password === undefined,
    'must have either code or current_password',
  )
  .meta({ id: 'StepUp', examples: [{ code: '042711' }] })

const TotpEnrolment = z
  .object(
    {
      current_password: currentPasswordSchema(),
      name: displayName().min(1, 'must not be empty').optional().describe('What the user calls the device.'),
    },
    'must be a JSON object',
  )
  .meta({ id: 'TotpEnrolment', examples: [{ current_password: 'c0rrect-Horse!', name: 'Phone' }] })

const TotpSecret = z
  .object({
    secret: z.string().describe('In base 32, for an app that takes no URI.'),
    uri: z.string().describe('What an authenticator app reads from a QR code.'),
  })
  .meta({
    id: 'TotpSecret',
    examples: [
      {
        secret: SECRET,
        uri: `otpauth://totp/Latchkey:ada%40example.com?issuer=Latchkey&secret=${SECRET}&algorithm=SHA1&digits=6&period=30`,
      },
    ],
  })

const TotpConfirmation = z
  .object({ code: sixDigitCodeSchema().describe('The first code of the app.') }, 'must be a JSON object')
  .meta({ id: 'TotpConfirmation', examples: [{ code: '042711' }] })

const recoveryCodes = () => z.array(z.string()).describe('Shown this once. Each is valid once.')

const RecoveryCodesResponse = z
  .object({
    recovery_codes: recoveryCodes(),
    challenge: z.string().describe('Confirms them, within 15 minutes.'),
  })
  .meta({ id: 'RecoveryCodes', examples: [{ recovery_codes: [RECOVERY_CODE], challenge: 'eyJ0eXAi…' }] })

const RecoveryCodesConfirmation = z
  .object(
    { challenge: challengeText().describe('The `challenge` that came with the codes.') },
    'must be a JSON object',
  )
  .meta({ id: 'RecoveryCodesConfirmation', examples: [{ challenge: 'eyJ0eXAi…' }] })

const FactorsResponse = z
  .object({
    factors: z.array(
      z.object({
        id: z.guid(),
        kind: z.enum(FACTOR_KINDS),
        name: z.string().nullable(),
        created_at: z.string().meta({ format: 'date-time' }),
        last_used_at: z.string().nullable().meta({ format: 'date-time' }),
      }),
    ),
    recovery_codes: z.int().describe('How many are left.'),
  })
  .meta({ id: 'Factors' })

const FactorId = z.object({ id: z.guid('must be the id of a factor') })

const FactorName = z
  .object({ name: displayName().min(1, 'must not be empty') }, 'must be a JSON object')
  .meta({ id: 'FactorName', examples: [{ name: 'Laptop' }] })

const TAGS = ['second factor']

export interface FactorRoutesOptions {
  answer: (given: ChallengeAnswer, request: FastifyRequest) => Promise<IssuedToken>
  stepUp: (given: StepUp, request: FastifyRequest) => Promise<IssuedToken>
  list: (request: FastifyRequest) => Promise<{ factors: Factor[]; recoveryCodes: number }>
  beginTotp: (given: TotpRequest, request: FastifyRequest) => Promise<Enrolment>
  confirmTotp: (code: string, request: FastifyRequest) => Promise<Enrolled>
  rename: (id: string, name: string, request: FastifyRequest) => Promise<void>
  remove: (id: string, request: FastifyRequest) => Promise<void>
  createRecoveryCodes: (request: FastifyRequest) => Promise<NewCodes>
  confirmRecoveryCodes: (challenge: string, request: FastifyRequest) => Promise<void>
}

export const factorRoutes: FastifyPluginAsyncZod<FactorRoutesOptions> = async (app, options) => {
  app.post(
    '/login/secondfactor',
    {
      problems: ['second_factor_refused', 'challenge_refused', 'password_exposed'],
      schema: {
        operationId: 'answerChallenge',
        summary: 'Exchange the challenge of a login and a code for a token',
        description:
          'A challenge lives five minutes, and takes five codes. Each code is accepted once. A use of a recovery code is mailed to the user. After many wrong codes, of all days together, a client that the account does not know needs a new password, a recovery code or a passkey.',
        tags: ['login'],
        body: SecondFactorBody,
        response: { 200: TokenResponse },
      },
    },
    (request) => options.answer(request.body, request),
  )

  app.post(
    '/login/stepup',
    {
      auth: FACTOR_NOT_YET_REQUIRED,
      problems: ['insufficient_user_authentication', 'second_factor_refused', 'wrong_password', 'overloaded'],
      schema: {
        operationId: 'stepUp',
        summary: 'Step up the token by a second factor, or by the password',
        description:
          'The response has a token of the same session with a new `auth_time`, and in `amr` what was shown. For a user without a second factor, the password renews `auth_time`, and `amr` names no factor; a user without a password keeps both, and has to log in again after five minutes.',
        tags: ['login'],
        body: StepUpBody,
        response: { 200: TokenResponse },
      },
    },
    (request) => {
      const { code, current_password: currentPassword } = request.body
      return options.stepUp({ code, currentPassword }, request)
    },
  )

  app.get(
    '/profile/factors',
    {
      auth: FACTOR_NOT_YET_REQUIRED,
      schema: {
        operationId: 'listFactors',
        summary: "The caller's second factors",
        description: 'Also how many recovery codes are left. Times are in UTC.',
        tags: TAGS,
        response: { 200: FactorsResponse },
      },
    },
    async (request) => {
      const { factors, recoveryCodes } = await options.list(request)
      const shown = factors.map(({ id, kind, name = null, createdAt, lastUsedAt }) => ({
        id,
        kind,
        name,
        created_at: createdAt.toISOString(),
        last_used_at: lastUsedAt?.toISOString() ?? null,
      }))
      return { factors: shown, recovery_codes: recoveryCodes }
    },
  )

  app.post(
    '/profile/factors/totp',
    {
      auth: FACTOR_NOT_YET_REQUIRED,
      problems: ['insufficient_user_authentication', 'too_many_factors', 'wrong_password', 'overloaded'],
      schema: {
        operationId: 'addTotp',
        summary: 'Begin to add an authenticator app',
        description:
          'The app counts once a first code confirms it, within 15 minutes. A further request replaces the secret; a new password, e-mail or factor ends it. A user with a second factor must have used it within the last five minutes. The first factor ends every other session of the user, and changes of the e-mail that are not confirmed: tell the user before.',
        tags: TAGS,
        body: TotpEnrolment,
        response: { 200: TotpSecret },
      },
    },
    (request) => {
      const { current_password: currentPassword, name } = request.body
      return options.beginTotp({ currentPassword, name }, request)
    },
  )

  app.post(
    '/profile/factors/totp/confirm',
    {
      auth: FACTOR_NOT_YET_REQUIRED,
      problems: ['insufficient_user_authentication', 'second_factor_refused'],
      schema: {
        operationId: 'confirmTotp',
        summary: 'Add the authenticator app by its first code',
        description:
          'From now on a login needs a code. The response has the recovery codes, if the user had none. The first factor ends every session but that of this request.',
        tags: TAGS,
        body: TotpConfirmation,
        response: { 200: EnrolledFactor },
      },
    },
    async (request) => toEnrolledFactor(await options.confirmTotp(request.body.code, request)),
  )

  app.post(
    '/profile/factors/recoverycodes',
    {
      auth: 'authenticated',
      problems: ['insufficient_user_authentication', 'factor_not_found'],
      schema: {
        operationId: 'renewRecoveryCodes',
        summary: 'Create recovery codes in place of those of before',
        description:
          'The codes of before stay valid until the new ones are confirmed. The user must have used a second factor within the last five minutes.',
        tags: TAGS,
        response: { 200: RecoveryCodesResponse },
      },
    },
    async (request) => {
      const { recoveryCodes, challenge } = await options.createRecoveryCodes(request)
      return { recovery_codes: recoveryCodes, challenge }
    },
  )

  app.post(
    '/profile/factors/recoverycodes/confirm',
    {
      auth: 'authenticated',
      problems: ['insufficient_user_authentication', 'challenge_refused', 'factor_not_found'],
      schema: {
        operationId: 'confirmRecoveryCodes',
        summary: 'Confirm that the user has stored the new recovery codes',
        description:
          'From now on the new codes are valid, and those of before are not. A new password, e-mail or factor since the codes were created ends their challenge.',
        tags: TAGS,
        body: RecoveryCodesConfirmation,
        response: { 204: z.undefined().describe('The new codes are valid.') },
      },
    },
    async (request, reply) => {
      await options.confirmRecoveryCodes(request.body.challenge, request)
      reply.code(204)
    },
  )

  app.put(
    '/profile/factors/:id',
    {
      auth: 'authenticated',
      problems: ['insufficient_user_authentication', 'factor_not_found'],
      schema: {
        operationId: 'renameFactor',
        summary: 'Name a second factor',
        description:
          'A name tells its owner which of several devices it is on. The user must have used a second factor within the last five minutes.',
        tags: TAGS,
        params: FactorId,
        body: FactorName,
        response: { 204: z.undefined().describe('The factor has the name.') },
      },
    },
    async (request, reply) => {
      await options.rename(request.params.id.toLowerCase(), request.body.name, request)
      reply.code(204)
    },
  )

  app.delete(
    '/profile/factors/:id',
    {
      auth: 'authenticated',
      problems: ['insufficient_user_authentication', 'factor_not_found', 'last_factor'],
      schema: {
        operationId: 'removeFactor',
        summary: 'Remove a second factor',
        description:
          'The user must have used a second factor within the last five minutes. The last one takes the recovery codes with it; the tokens of the user then no longer say `mfa`.',
        tags: TAGS,
        params: FactorId,
        response: { 204: z.undefined().describe('The factor is removed.') },
      },
    },
    async (request, reply) => {
      await options.remove(request.params.id.toLowerCase(), request)
      reply.code(204)
    },
  )
}
