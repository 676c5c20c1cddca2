import { z } from 'zod'
import { challengeText } from '../challenges.ts'
import type { FactorRoutes } from '../second-factor.ts'
import { beginRecoveryCodeRenewal, verifyRecoveryCodeRenewal } from './renew-recovery-codes.ts'

const RecoveryCodesResponse = z
  .object({
    recovery_codes: z.array(z.string()).describe('Shown this once. Each is valid once.'),
    challenge: z.string().describe('Confirms them, within 15 minutes.'),
  })
  .meta({ id: 'RecoveryCodes', examples: [{ recovery_codes: ['7k3m-q2xw-9dfr'], challenge: 'eyJ0eXAi…' }] })

const RecoveryCodesConfirmation = z
  .object(
    { challenge: challengeText().describe('The `challenge` that came with the codes.') },
    'must be a JSON object',
  )
  .meta({ id: 'RecoveryCodesConfirmation', examples: [{ challenge: 'eyJ0eXAi…' }] })

export const recoveryCodeRoutes: FactorRoutes = async (app, { secondFactor }) => {
  const { loggedInClientOf } = secondFactor

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
        tags: ['second factor'],
        response: { 200: RecoveryCodesResponse },
      },
    },
    async (request) => {
      const { codes, challenge } = await beginRecoveryCodeRenewal(secondFactor, loggedInClientOf(request))
      return { recovery_codes: codes, challenge }
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
        tags: ['second factor'],
        body: RecoveryCodesConfirmation,
        response: { 204: z.undefined().describe('The new codes are valid.') },
      },
    },
    async (request, reply) => {
      await verifyRecoveryCodeRenewal(secondFactor, request.body.challenge, loggedInClientOf(request))
      reply.code(204)
    },
  )
}
