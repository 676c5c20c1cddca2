import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { CliError } from '../../cli-error.ts'
import { EXIT } from '../../exit-codes.ts'

const OLDEST = [8, 3] as const
const INSTALL =
  'install PHP 8.3 or newer (Debian: apt-get install php-cli php-readline), or name one in SCRIPTIFY_PHP_BINARY'

/** Finds the php to use (SCRIPTIFY_PHP_BINARY, else php on the PATH); throws exit code 5 if none or too old. */
export async function findPhp(env: NodeJS.ProcessEnv): Promise<{ path: string; version: string }> {
  const path = env.SCRIPTIFY_PHP_BINARY ?? 'php'
  const version = await readVersion(path, env)
  if (version === undefined)
    throw new CliError(`php was not found (${path}): ${INSTALL}`, EXIT.runtimeMissing)
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    throw new CliError(`php ${version} is too old (${path}): ${INSTALL}`, EXIT.runtimeMissing)
  }
  return { path, version }
}

async function readVersion(path: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)(path, ['-n', '-r', 'echo PHP_VERSION;'], { env })
    return stdout.trim()
  } catch {
    return undefined
  }
}
