import { userInfo } from 'node:os'
import { isAbsolute, join } from 'node:path'

const BELOW_HOME = { XDG_CACHE_HOME: '.cache', XDG_STATE_HOME: '.local/state' }

/**
 * Where scriptify keeps what the variable is for; undefined for a user without a home. A relative path counts as not
 * given (XDG Base Directory Specification): it would be another folder in each working directory.
 */
export function xdgFolder(env: NodeJS.ProcessEnv, variable: keyof typeof BELOW_HOME): string | undefined {
  const given = env[variable] ?? ''
  if (isAbsolute(given)) return join(given, 'scriptify')
  const home = env.HOME && isAbsolute(env.HOME) ? env.HOME : homeOfUser()
  return home === undefined ? undefined : join(home, BELOW_HOME[variable], 'scriptify')
}

/** What os.homedir() would give is HOME again, even an empty one. */
function homeOfUser(): string | undefined {
  try {
    return userInfo().homedir
  } catch {
    // A container may run as a user that its system does not know.
    return undefined
  }
}
