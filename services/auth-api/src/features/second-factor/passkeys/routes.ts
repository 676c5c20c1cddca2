import { currentPasswordSchema } from '@latchkey/shared/passwords/password-policy.ts'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { z } from 'zod'
import { FACTOR_NOT_YET_REQUIRED } from '../../../http/authenticate.ts'
import { ADMISSION_PROBLEMS } from '../../../tokens/require-admitted.ts'
import {
  LoginResponse,
  rememberSchema,
  TokenResponse,
  toRefreshForm,
} from '../../../tokens/token-response.ts'
import { challengeText } from '../challenges.ts'
import { ENROLMENT_PROBLEMS, EnrolledFactor, factorName, toEnrolledFactor } from '../factor-schemas.ts'
import type { FactorRoutes } from '../second-factor.ts'
import { beginPasskeyEnrolment, verifyPasskeyEnrolment } from './enrol-passkey.ts'
import {
  beginPasskeyLogin,
  beginPasskeyStepUp,
  verifyPasskeyLogin,
  verifyPasskeyStepUp,
} from './use-passkey.ts'

const base64url = (maximum: number) =>
  z
    .string('must be a string')
    .max(maximum, `must be at most ${maximum} characters`)
    .regex(/^[\w-]+$/, 'must be base64url')

/** The credential that a browser returns, by its method `toJSON`. */
const credentialWith = <Shape extends z.ZodRawShape>(response: Shape) =>
  z.object(
    {
      // A credential id has at most 1,023 bytes (WebAuthn §4).
      id: base64url(1_364),
      rawId: base64url(1_364),
      type: z.literal('public-key', 'must be public-key'),
      response: z.object({ clientDataJSON: base64url(4_096), ...response }),
    },
    'must be a JSON object',
  )

const Assertion = credentialWith({
  authenticatorData: base64url(2_048),
  signature: base64url(2_048),
  userHandle: base64url(86).nullish(),
})
  .transform(
    ({ response: { userHandle, ...response }, ...credential }): AuthenticationResponseJSON => ({
      ...credential,
      response: { ...response, ...(userHandle ? { userHandle } : {}) },
      clientExtensionResults: {},
    }),
  )
  .describe('The result of `navigator.credentials.get`, by its method `toJSON`.')

const Attestation = credentialWith({
  attestationObject: base64url(8_192),
  transports: z.array(z.string().max(20)).max(10).default([]),
})
  .transform((credential): RegistrationResponseJSON => ({ ...credential, clientExtensionResults: {} }))
  .describe('The result of `navigator.credentials.create`, by its method `toJSON`.')

const PasskeyStepUp = z
  .object({ credential: Assertion }, 'must be a JSON object')
  .meta({ id: 'PasskeyStepUp' })

const PasskeyLogin = PasskeyStepUp.extend({ remember: rememberSchema() }).meta({ id: 'PasskeyLogin' })

const NewPasskey = z
  .object(
    {
      name: factorName().optional().describe('The name that the user gives it.'),
      credential: Attestation,
    },
    'must be a JSON object',
  )
  .meta({ id: 'NewPasskey' })

const ChallengeBody = z
  .object(
    {
      challenge: challengeText()
        .optional()
        .describe('The `challenge` of the login with a password; absent where only the passkey is used.'),
    },
    'must be a JSON object',
  )
  .meta({ id: 'PasskeyChallenge', examples: [{}] })

const PasskeyEnrolment = z
  .object({ current_password: currentPasswordSchema() }, 'must be a JSON object')
  .meta({ id: 'PasskeyEnrolment', examples: [{ current_password: 'c0rrect-Horse!' }] })

const PasskeyOptions = z
  .object({
    publicKey: z
      .record(z.string(), z.unknown())
      .describe(
        'For `navigator.credentials`, by `parseRequestOptionsFromJSON`, and for a new passkey by `parseCreationOptionsFromJSON`, of `PublicKeyCredential`.',
      ),
  })
  .meta({
    id: 'PasskeyOptions',
    examples: [{ publicKey: { challenge: 'ZXlKaGJHY2lPaUpJVXpJMU5pSjk', rpId: 'example.com' } }],
  })

/** A copy, since the options of the library have no index signature. */
const asOptions = (publicKey: object) => ({ publicKey: { ...publicKey } })

/** Adds the routes of passkeys, where PASSKEY_ORIGINS names a page. */
export const passkeyRoutes: FactorRoutes = async (app, { secondFactor, config }) => {
  const { clientOf, loggedInClientOf, settings } = secondFactor
  const { rpId, origins } = config.passkeys
  if (rpId === undefined || origins.length === 0) return
  const passkeys = { ...secondFactor, party: { id: rpId, name: settings.productName, origins } }

  app.post(
    '/login/passkey/options',
    {
      problems: ['challenge_refused', 'passkey_refused'],
      schema: {
        operationId: 'getPasskeyLoginOptions',
        summary: 'The options with which a browser logs in by a passkey',
        description:
          'With the challenge of a login, for a passkey in place of a code; without one, for a passkey alone, which names its user and has to verify them. The options live five minutes, and are for one login.',
        tags: ['login'],
        body: ChallengeBody,
        response: { 200: PasskeyOptions },
      },
    },
    async (request) => asOptions(await beginPasskeyLogin(passkeys, request.body.challenge)),
  )

  app.post(
    '/login/passkey',
    {
      config: { usesRefreshCookie: true },
      problems: ['challenge_refused', 'passkey_refused', ...ADMISSION_PROBLEMS],
      schema: {
        operationId: 'logInByPasskey',
        summary: 'Exchange what a passkey signed for a token',
        description:
          'Refused passkeys are limited like failed logins. A passkey whose counter went back is refused, and the audit trail has an event.',
        tags: ['login'],
        body: PasskeyLogin,
        response: { 200: LoginResponse },
      },
    },
    async (request, reply) => {
      const { credential, remember } = request.body
      const login = { credential, remember: toRefreshForm(remember) }
      return secondFactor.answerLogin(reply, await verifyPasskeyLogin(passkeys, login, clientOf(request)))
    },
  )

  app.post(
    '/login/stepup/passkey/options',
    {
      auth: FACTOR_NOT_YET_REQUIRED,
      problems: ['passkey_refused'],
      schema: {
        operationId: 'getPasskeyStepUpOptions',
        summary: 'The options with which a browser confirms the login by a passkey',
        description: 'The options live five minutes, and are for one use.',
        tags: ['login'],
        response: { 200: PasskeyOptions },
      },
    },
    async (request) => asOptions(await beginPasskeyStepUp(passkeys, loggedInClientOf(request))),
  )

  app.post(
    '/login/stepup/passkey',
    {
      auth: FACTOR_NOT_YET_REQUIRED,
      problems: ['challenge_refused', 'passkey_refused'],
      schema: {
        operationId: 'stepUpByPasskey',
        summary: 'Step up the token by a passkey',
        description: 'The response has a token of the same session with a new `auth_time` and `amr`.',
        tags: ['login'],
        body: PasskeyStepUp,
        response: { 200: TokenResponse },
      },
    },
    (request) => verifyPasskeyStepUp(passkeys, request.body.credential, loggedInClientOf(request)),
  )

  app.post(
    '/profile/factors/passkey',
    {
      auth: FACTOR_NOT_YET_REQUIRED,
      problems: ENROLMENT_PROBLEMS,
      schema: {
        operationId: 'addPasskey',
        summary: 'Begin to add a passkey',
        description:
          'A user with a second factor must have used it within the last five minutes. The options live five minutes, and are for one passkey; a new password, e-mail or factor ends them. The first factor ends every other session of the user, and changes of the e-mail that are not confirmed: tell the user before.',
        tags: ['second factor'],
        body: PasskeyEnrolment,
        response: { 200: PasskeyOptions },
      },
    },
    async (request) => {
      const { current_password: currentPassword } = request.body
      return asOptions(await beginPasskeyEnrolment(passkeys, currentPassword, loggedInClientOf(request)))
    },
  )

  app.post(
    '/profile/factors/passkey/confirm',
    {
      auth: FACTOR_NOT_YET_REQUIRED,
      problems: ['insufficient_user_authentication', 'challenge_refused', 'passkey_refused'],
      schema: {
        operationId: 'confirmPasskey',
        summary: 'Add the passkey that the browser has created',
        description:
          'From now on a login with the password needs a second factor. The response has the recovery codes, if the user had none. The first factor ends every session but that of this request.',
        tags: ['second factor'],
        body: NewPasskey,
        response: { 200: EnrolledFactor },
      },
    },
    async (request) =>
      toEnrolledFactor(await verifyPasskeyEnrolment(passkeys, request.body, loggedInClientOf(request))),
  )
}
