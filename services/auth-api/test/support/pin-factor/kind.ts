import { randomUUID } from 'node:crypto'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { currentPasswordSchema } from '@latchkey/shared/passwords/password-policy.ts'
import { createFactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import { z } from 'zod'
import { addFactor } from '../../../src/features/second-factor/add-factor.ts'
import {
  ENROLMENT_PROBLEMS,
  EnrolledFactor,
  toEnrolledFactor,
} from '../../../src/features/second-factor/factor-schemas.ts'
import type { FactorKind, FactorRoutes } from '../../../src/features/second-factor/second-factor.ts'
import { FACTOR_NOT_YET_REQUIRED } from '../../../src/http/authenticate.ts'

const PIN = { name: 'pin', isGuessable: true }

const PinEnrolment = z
  .object({ current_password: currentPasswordSchema(), pin: z.string().regex(/^\d{8}$/) })
  .meta({ id: 'PinEnrolment', examples: [{ current_password: 'c0rrect-Horse!', pin: '20260301' }] })

/** Adds a PIN by one request. */
const pinRoutes: FactorRoutes = async (app, { secondFactor }) => {
  const { guard, secrets, localNow, loggedInClientOf } = secondFactor
  app.post(
    '/profile/factors/pin',
    {
      auth: FACTOR_NOT_YET_REQUIRED,
      problems: ENROLMENT_PROBLEMS,
      schema: {
        operationId: 'addPin',
        summary: 'Add a PIN',
        tags: ['second factor'],
        body: PinEnrolment,
        response: { 200: EnrolledFactor },
      },
    },
    async (request) => {
      const { current_password, pin } = request.body
      const client = loggedInClientOf(request)
      const { begunUnder } = await guard.begin('addFactor', client, current_password)
      const enrolled = await addFactor(secondFactor, PIN, client, async (db, locked) => {
        const { claims } = client
        const user = await guard.allow(db, locked, { begunUnder, claims, refuse: pinRefused })
        const factors = createFactorRepository(db)
        const id = randomUUID()
        const data = await secrets.seal(user.userid, 'pin', pin)
        await factors.insert(
          { id, userid: user.userid, kind: PIN.name, name: undefined, data },
          new Date(localNow()),
        )
        await factors.confirm(id, 0, new Date(localNow()))
        return { user, amr: ['pin'] }
      })
      return toEnrolledFactor(enrolled)
    },
  )
}

/** A made-up kind of factor: eight digits that a user remembers. It has nothing outside this folder. */
export const pin: FactorKind = {
  ...PIN,
  code: {
    matches: (code) => /^\d{8}$/.test(code),
    verify:
      ({ secrets }, code) =>
      async (db, { userid }) => {
        for (const { kind, data } of await createFactorRepository(db).find(userid))
          if (kind === PIN.name && (await secrets.open(userid, 'pin', data)) === code) return ['pin']
        throw pinRefused()
      },
  },
  routes: pinRoutes,
}

const pinRefused = () => new AppError('second_factor_refused', 'The PIN is wrong')
