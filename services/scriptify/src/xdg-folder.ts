import { userInfo } from 'node:os'
import { isAbsolute, join } from 'node:path'

const BELOW_HOME = { XDG_CACHE_HOME: '.cache', XDG_STATE_HOME: '.local/state' }

/**
 * The folder of scriptify in the folder that the variable names; undefined for a user without a home. A relative path is
 * ignored (XDG Base Directory Specification), because it would depend on the working directory.
 */
export function xdgFolder(env: NodeJS.ProcessEnv, variable: keyof typeof BELOW_HOME): string | undefined {
  const given = env[variable] ?? ''
  if (isAbsolute(given)) return join(given, 'scriptify')
  const home = env.HOME && isAbsolute(env.HOME) ? env.HOME : homeOfUser()
  return home === undefined ? undefined : join(home, BELOW_HOME[variable], 'scriptify')
}

/** From the user database; os.homedir() would return HOME, even if it is empty. */
function homeOfUser(): string | undefined {
  try {
    return userInfo().homedir
  } catch {
    // A container may run as a user without an entry.
    return undefined
  }
}
