import { currentPasswordSchema } from '@latchkey/shared/passwords/password-policy.ts'
import { z } from 'zod'
import { FACTOR_NOT_YET_REQUIRED } from '../../../http/authenticate.ts'
import { sixDigitCodeSchema } from '../../one-time-codes/code-schemas.ts'
import { ENROLMENT_PROBLEMS, EnrolledFactor, factorName, toEnrolledFactor } from '../factor-schemas.ts'
import type { FactorRoutes } from '../second-factor.ts'
import { beginTotpEnrolment, verifyTotpEnrolment } from './enrol-totp.ts'

const SECRET = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'

const TotpEnrolment = z
  .object(
    {
      current_password: currentPasswordSchema(),
      name: factorName().optional().describe('The name that the user gives the device.'),
    },
    'must be a JSON object',
  )
  .meta({ id: 'TotpEnrolment', examples: [{ current_password: 'c0rrect-Horse!', name: 'Phone' }] })

const TotpSecret = z
  .object({
    secret: z.string().describe('In base 32, for an app that takes no URI.'),
    uri: z.string().describe('The text that an authenticator app reads from a QR code.'),
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

export const totpRoutes: FactorRoutes = async (app, { secondFactor }) => {
  const { loggedInClientOf } = secondFactor

  app.post(
    '/profile/factors/totp',
    {
      auth: FACTOR_NOT_YET_REQUIRED,
      problems: ENROLMENT_PROBLEMS,
      schema: {
        operationId: 'addTotp',
        summary: 'Begin to add an authenticator app',
        description:
          'The app counts once a first code confirms it, within 15 minutes. A further request replaces the secret; a new password, e-mail or factor ends it. A user with a second factor must have used it within the last five minutes. The first factor ends every other session of the user, and changes of the e-mail that are not confirmed: tell the user before.',
        tags: ['second factor'],
        body: TotpEnrolment,
        response: { 200: TotpSecret },
      },
    },
    (request) => {
      const { current_password: currentPassword, name } = request.body
      return beginTotpEnrolment(secondFactor, { currentPassword, name }, loggedInClientOf(request))
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
        tags: ['second factor'],
        body: TotpConfirmation,
        response: { 200: EnrolledFactor },
      },
    },
    async (request) =>
      toEnrolledFactor(await verifyTotpEnrolment(secondFactor, request.body.code, loggedInClientOf(request))),
  )
}
