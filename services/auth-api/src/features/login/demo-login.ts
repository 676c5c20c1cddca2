import { DEMO_PASSWORD, DEMO_USERS, hasDemoUsers } from '@latchkey/shared/users/demo-users.ts'
import type { Config } from '../../config.ts'
import type { Credentials } from './log-in.ts'

/** The credentials of a demo user where there are demo users, as an example to try. */
export function demoLogin({ environment, login }: Config): Credentials | undefined {
  const user = DEMO_USERS.find(({ role }) => role === 'user')
  return user && hasDemoUsers(environment)
    ? { username: user[login.field], password: DEMO_PASSWORD }
    : undefined
}
