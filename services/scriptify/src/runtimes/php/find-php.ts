import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { CliError } from '../../cli-error.ts'
import { EXIT } from '../../exit-codes.ts'

const run = promisify(execFile)
const INSTALL = 'install PHP 8.3 or newer (Debian: apt-get install php-cli) or set SCRIPTIFY_PHP_BINARY'
// On one line, because a shared library may print a notice at start-up.
const PROBE = 'echo "\\n", PHP_BINARY, "\\t", PHP_VERSION, "\\t", PHP_VERSION_ID, "\\n";'

/** Finds php ≥ 8.3 (`SCRIPTIFY_PHP_BINARY`, else `php` in PATH); throws exit code 5 saying what to install. */
export async function findPhp(env: NodeJS.ProcessEnv): Promise<{ path: string; version: string }> {
  const binary = env.SCRIPTIFY_PHP_BINARY || 'php'
  // A PATH that is meant for the project's code must not hide php.
  const own = { ...env, PATH: process.env.PATH }
  const output = await run(binary, ['-n', '-r', PROBE], { env: own, timeout: 10_000 }).then(
    ({ stdout }) => stdout,
    (cause: unknown) => {
      throw new CliError(`Could not run ${binary}: ${reason(cause)}; ${INSTALL}`, EXIT.runtimeMissing)
    },
  )
  const [path = '', version = '', id = '0'] = (output.trim().split('\n').at(-1) ?? '').split('\t')
  if (path === '' || Number(id) < 80_300) {
    throw new CliError(`${binary} is PHP ${version || 'of unknown version'}; ${INSTALL}`, EXIT.runtimeMissing)
  }
  return { path, version }
}

function reason(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  return 'code' in cause && cause.code === 'ENOENT' ? 'not found' : (cause.message.split('\n')[0] ?? '')
}
