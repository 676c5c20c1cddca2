import type { FactorKind } from '../second-factor.ts'
import { PASSKEY } from './passkey.ts'
import { passkeyRoutes } from './routes.ts'

/** Passkeys, as a second factor and in place of a password. */
export const passkeys: FactorKind = { ...PASSKEY, routes: passkeyRoutes }
