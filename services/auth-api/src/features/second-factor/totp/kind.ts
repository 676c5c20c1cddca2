import { createFactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import type { FactorKind, SecondFactor, VerifyFactor } from '../second-factor.ts'
import { totpRoutes } from './routes.ts'
import { codeRefused, findStep, TOTP } from './totp.ts'

/** Authenticator apps, which show codes of six digits. */
export const totp: FactorKind = {
  ...TOTP,
  code: { matches: (code) => /^[0-9]{6}$/.test(code), verify: verifyTotp },
  routes: totpRoutes,
}

function verifyTotp({ secrets, localNow }: SecondFactor, code: string): VerifyFactor {
  return async (db, { userid }) => {
    const factors = createFactorRepository(db)
    const now = localNow()
    for (const { id, kind, data } of await factors.find(userid)) {
      if (kind !== TOTP.name) continue
      const step = findStep(await secrets.open(userid, 'totp', data), code, now)
      if (step !== undefined && (await factors.use(id, step, new Date(now)))) return ['otp']
    }
    throw codeRefused()
  }
}
