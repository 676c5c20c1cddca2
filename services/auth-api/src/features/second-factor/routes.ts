import { currentPasswordSchema } from '@latchkey/shared/passwords/password-policy.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { FACTOR_NOT_YET_REQUIRED } from '../../http/authenticate.ts'
import { ADMISSION_PROBLEMS } from '../../tokens/require-admitted.ts'
import { LoginResponse, rememberSchema, TokenResponse, toRefreshForm } from '../../tokens/token-response.ts'
import { challengeText } from './challenges.ts'
import { factorName } from './factor-schemas.ts'
import { listFactors, removeFactor, renameFactor } from './manage-factors.ts'
import { recoveryCodes } from './recovery-codes/kind.ts'
import { createSecondFactor, type FactorKind } from './second-factor.ts'
import { stepUp, verifyLoginCode } from './verify-code.ts'

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
      remember: rememberSchema(),
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

const factorsOf = (kinds: readonly FactorKind[]) =>
  z
    .object({
      factors: z.array(
        z.object({
          id: z.guid(),
          kind: z.enum(kinds.map(({ name }) => name)),
          name: z.string().nullable(),
          created_at: z.string().meta({ format: 'date-time' }),
          last_used_at: z.string().nullable().meta({ format: 'date-time' }),
        }),
      ),
      recovery_codes: z.int().describe('The number of codes that are left.'),
    })
    .meta({ id: 'Factors' })

const FactorId = z.object({ id: z.guid('must be the id of a factor') })

const FactorName = z
  .object({ name: factorName() }, 'must be a JSON object')
  .meta({ id: 'FactorName', examples: [{ name: 'Laptop' }] })

const TAGS = ['second factor']

export interface SecondFactorRoutesOptions {
  core: Core
  config: Config
  /** The kinds of factors that a user can add. */
  kinds: readonly FactorKind[]
}

/**
 * Adds second factors, the second step of a login, and the step-up of a token, where SECOND_FACTOR is `on`. Recovery codes come with
 * every kind.
 */
export const secondFactorRoutes: FastifyPluginAsyncZod<SecondFactorRoutesOptions> = async (
  app,
  { core, config, kinds },
) => {
  const allKinds = [...kinds, recoveryCodes]
  const secondFactor = createSecondFactor(core, config, allKinds)
  if (!secondFactor) return
  const { clientOf, loggedInClientOf } = secondFactor

  app.post(
    '/login/secondfactor',
    {
      config: { usesRefreshCookie: true },
      problems: ['second_factor_refused', 'challenge_refused', 'password_exposed', ...ADMISSION_PROBLEMS],
      schema: {
        operationId: 'verifyLoginCode',
        summary: 'Exchange the challenge of a login and a code for a token',
        description:
          'A challenge lives five minutes, and takes five codes. Each code is accepted once. A use of a recovery code is mailed to the user. After many wrong codes, of all days together, a client that the account does not know needs a new password, a recovery code or a passkey.',
        tags: ['login'],
        body: SecondFactorBody,
        response: { 200: LoginResponse },
      },
    },
    async (request, reply) => {
      const { remember, ...answer } = request.body
      const login = { ...answer, remember: toRefreshForm(remember) }
      return secondFactor.answerLogin(reply, await verifyLoginCode(secondFactor, login, clientOf(request)))
    },
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
      return stepUp(secondFactor, { code, currentPassword }, loggedInClientOf(request))
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
        response: { 200: factorsOf(kinds) },
      },
    },
    async (request) => {
      const { factors, recoveryCodes } = await listFactors(secondFactor, request.jwt.sub)
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
      const renamed = { id: request.params.id.toLowerCase(), name: request.body.name }
      await renameFactor(secondFactor, renamed, loggedInClientOf(request))
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
      await removeFactor(secondFactor, request.params.id.toLowerCase(), loggedInClientOf(request))
      reply.code(204)
    },
  )

  for (const { routes } of allKinds) await app.register(routes, { secondFactor, config })
}
