import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { createPasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { loadEnvironment } from '@latchkey/shared/settings/environment.ts'
import { parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import { EXIT_CONFIGURATION, SettingsError } from '@latchkey/shared/settings/settings-error.ts'
import { DEMO_USERS, seedDemoUsers } from './start/demo-users.ts'

/** Everybody knows the demo users' password, so no other environment gets them. */
const DEMO_ENVIRONMENTS = ['dev', 'test']

try {
  const environment = loadEnvironment(process.env)
  const settings = parseSettings(['APP_ENV', 'DATABASE_URL', 'PASSWORD_HASH'], environment)
  if (!DEMO_ENVIRONMENTS.includes(settings.APP_ENV)) {
    throw new SettingsError([`APP_ENV must be ${DEMO_ENVIRONMENTS.join(' or ')} for demo users.`])
  }
  await seed(settings.DATABASE_URL, settings.PASSWORD_HASH)
  process.stdout.write(`Demo users: ${DEMO_USERS.map(({ email }) => email).join(', ')}\n`)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = error instanceof SettingsError ? EXIT_CONFIGURATION : 1
}

async function seed(databaseUrl: string, scheme: string): Promise<void> {
  const passwords = createPasswordHasher({ scheme, concurrency: 1, queueLimit: 10 })
  try {
    await withDatabase(databaseUrl, (db) => seedDemoUsers(db, passwords))
  } finally {
    await passwords.close()
  }
}
