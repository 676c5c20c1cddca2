import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { errorMessage } from '@latchkey/shared/errors/app-error.ts'
import { createPasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { loadEnvironment } from '@latchkey/shared/settings/environment.ts'
import { parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import { EXIT_CONFIGURATION, SettingsError } from '@latchkey/shared/settings/settings-error.ts'
import { DEMO_ENVIRONMENTS, DEMO_USERS, hasDemoUsers } from '@latchkey/shared/users/demo-users.ts'
import { addDemoUsers } from './add-demo-users.ts'

try {
  const settings = parseSettings(['APP_ENV', 'DATABASE_URL', 'PASSWORD_HASH'], loadEnvironment(process.env))
  if (!hasDemoUsers(settings.APP_ENV)) {
    throw new SettingsError([`APP_ENV must be ${DEMO_ENVIRONMENTS.join(' or ')} for demo users.`])
  }
  const passwords = createPasswordHasher({ scheme: settings.PASSWORD_HASH, concurrency: 1, queueLimit: 10 })
  const isAdded = await withDatabase(settings.DATABASE_URL, (db) => addDemoUsers(db, passwords)).finally(
    passwords.close,
  )
  process.stdout.write(
    isAdded
      ? `Demo users: ${DEMO_USERS.map(({ email }) => email).join(', ')}\n`
      : 'The database has users: no demo users were added.\n',
  )
} catch (error) {
  process.stderr.write(`${errorMessage(error)}\n`)
  process.exitCode = error instanceof SettingsError ? EXIT_CONFIGURATION : 1
}
