import { randomBytes } from 'node:crypto'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { configureExtensions } from '@latchkey/shared/extensions/configure-extensions.ts'
import { getExtension, SHIPPED_EXTENSION } from '@latchkey/shared/extensions/find-extensions.ts'
import { loadExtensions } from '@latchkey/shared/extensions/load-extensions.ts'
import { createPasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { generatePrivateKey } from '@latchkey/shared/secrets/private-key.ts'
import { createLogger } from '@latchkey/shared/telemetry/logger.ts'
import { Registry } from 'prom-client'
import { buildApp } from '../../services/auth-api/src/app.ts'
import { openAuditTrail } from '../../services/auth-api/src/audit/audit-trail.ts'
import { parseConfig } from '../../services/auth-api/src/config.ts'
import { createHashWaits } from '../../services/auth-api/src/features/health/service-metrics.ts'
import { loadProviders } from '../../services/auth-api/src/features/identity-providers/load-providers.ts'

/** Returns the OpenAPI document and the metrics of auth-api, which is built and connects to nothing. */
export async function describeAuthApi(issuer = 'http://localhost:8080') {
  const provider = {
    OIDC_PROVIDERS: 'google',
    OIDC_GOOGLE_ISSUER: 'https://accounts.google.com',
    OIDC_GOOGLE_CLIENT_ID: 'latchkey',
  }
  const config = parseConfig({
    ...provider,
    API_SERVER: issuer,
    DATABASE_URL: 'postgres://docs@127.0.0.1:1/docs',
    JWT_SECRET: randomBytes(64).toString('base64'),
    JWT_PRIVATE_KEY_NEXT: generatePrivateKey('ed25519'),
    MAIL_SECRET: randomBytes(32).toString('base64'),
    SIGN_UP: 'on',
    LOGIN_BY_MAIL: 'on',
    ACCOUNT_DELETION: 'on',
    SECOND_FACTOR: 'on',
    FACTOR_SECRET: randomBytes(32).toString('base64'),
  })
  const registry = new Registry()
  createHashWaits(registry)
  const db = await openDatabase(config.database.url)
  const passwords = createPasswordHasher(config.passwords)
  const logger = createLogger('auth-api', 'silent')
  const audit = openAuditTrail({ db, logger, registry, localNow: Date.now })
  const { server } = await buildApp(config, {
    db,
    audit,
    passwords,
    dispatcher: { dispatch: () => undefined, discard: () => undefined, close: async () => undefined },
    queue: { ping: async () => undefined },
    logger,
    registry,
    // Extensions of a team are not in Latchkey's own reference.
    providers: await loadProviders(config.identityProviders.names, provider),
    extensions: configureExtensions(await loadExtensions([getExtension(SHIPPED_EXTENSION)]), {}),
  })
  await server.ready()
  const openapi: unknown = server.swagger()
  await server.close()
  await audit.close()
  await passwords.close()
  await db.close()
  return { openapi, registry }
}
