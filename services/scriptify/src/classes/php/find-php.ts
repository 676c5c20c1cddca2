import { execFile } from 'node:child_process'
import { accessSync, closeSync, constants, openSync, readSync, realpathSync, statSync } from 'node:fs'
import { basename, delimiter, resolve } from 'node:path'
import { CliError, EXIT, errorCode } from '../../io/cli-error.ts'
import { SETTINGS } from '../../scriptify-settings.ts'

const INSTALL = `install PHP 8.3 or newer (Debian: apt-get install php-cli) or set ${SETTINGS.phpBinary.name}`
// On one line, because a shared library may print a notice at start-up.
const PROBE = 'echo "\\n", PHP_BINARY, "\\t", PHP_VERSION, "\\t", PHP_VERSION_ID, "\\n";'
const ELF_MAGIC = '\x7fELF'

/**
 * Finds the path of php (`SCRIPTIFY_PHP_BINARY`, else `php` in PATH) without starting it, where its file tells that it is
 * php; the caller has to check the version. Else as askPhp. `env` has the PATH of the caller: one that is meant for the
 * project's code must not hide php.
 */
export async function findPhp(env: NodeJS.ProcessEnv): Promise<string> {
  return findProgram(nameOfPhp(env), env.PATH) ?? askPhp(env)
}

/** Asks php for its path; throws a CliError (5), which says what to install, if it is missing or older than 8.3. */
export async function askPhp(env: NodeJS.ProcessEnv): Promise<string> {
  const binary = nameOfPhp(env)
  const { promisify } = await import('node:util')
  const asked = promisify(execFile)(binary, ['-n', '-r', PROBE], { env, timeout: 10_000 })
  const output = await asked.then(
    ({ stdout }) => stdout,
    (cause: unknown) => {
      throw new CliError(`Could not run ${binary}: ${reason(cause)}; ${INSTALL}`, EXIT.runtimeMissing)
    },
  )
  const [path = '', version = '', id = '0'] = (output.trim().split('\n').at(-1) ?? '').split('\t')
  if (path === '' || Number(id) < 80_300) {
    throw new CliError(`${binary} is PHP ${version || 'of unknown version'}; ${INSTALL}`, EXIT.runtimeMissing)
  }
  return path
}

const nameOfPhp = (env: NodeJS.ProcessEnv): string => env[SETTINGS.phpBinary.name] || 'php'

/** Finds the program; undefined for a script or the program of a version manager, which start a php that only they know. */
function findProgram(name: string, path = ''): string | undefined {
  const folders = name.includes('/') ? ['.'] : path.split(delimiter)
  const found = folders.map((folder) => resolve(folder, name)).find(isExecutable)
  if (found === undefined) return undefined
  const file = realpathSync(found)
  return basename(file).startsWith('php') && isElf(file) ? file : undefined
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

function isElf(path: string): boolean {
  try {
    const file = openSync(path, 'r')
    const magic = Buffer.alloc(ELF_MAGIC.length)
    readSync(file, magic)
    closeSync(file)
    return magic.toString('latin1') === ELF_MAGIC
  } catch {
    // A program that may be executed, but not read.
    return false
  }
}

function reason(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  return errorCode(cause) === 'ENOENT' ? 'not found' : (cause.message.split('\n')[0] ?? '')
}
