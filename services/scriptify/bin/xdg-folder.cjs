// JavaScript, because it is read before the cache that makes the start of TypeScript cheap.
const { userInfo } = require('node:os')
const { isAbsolute, join } = require('node:path')

const BELOW_HOME = { XDG_CACHE_HOME: '.cache', XDG_STATE_HOME: '.local/state' }

/**
 * Returns the folder of scriptify in the folder that the variable names; undefined for a user without a home. A relative path is
 * ignored (XDG Base Directory Specification), because it would depend on the working directory.
 * @param {NodeJS.ProcessEnv} env
 * @param {'XDG_CACHE_HOME' | 'XDG_STATE_HOME'} variable
 * @returns {string | undefined}
 */
exports.xdgFolder = (env, variable) => {
  const given = env[variable] ?? ''
  if (isAbsolute(given)) return join(given, 'scriptify')
  const home = env.HOME && isAbsolute(env.HOME) ? env.HOME : homeOfUser()
  return home === undefined ? undefined : join(home, BELOW_HOME[variable], 'scriptify')
}

/** Reads the user database; os.homedir() would return HOME, even if it is empty. */
function homeOfUser() {
  try {
    return userInfo().homedir
  } catch {
    // A container may run as a user without an entry.
    return undefined
  }
}
