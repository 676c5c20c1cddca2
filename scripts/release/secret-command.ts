import { parseArgs } from 'node:util'
import { errorMessage } from '@latchkey/shared/errors/app-error.ts'
import { KEY_KINDS } from '@latchkey/shared/secrets/private-key.ts'
import { CONFIG_DIR } from '@latchkey/shared/settings/environment.ts'
import { ArgumentError, parseWholeNumber } from '../../admin/fault.ts'
import { MAX_SECRET_BYTES, Secrets } from '../../admin/secrets.ts'
import { credentialsPath, ENVIRONMENTS, writeCredentials } from './credentials-file.ts'

const MIN_JWT_SECRET_BYTES = 64
const USAGE = `Usage: npm run secret [-- [bytes] [--key <kind>] [--write <env> [--force]] [--help]]

Prints a new secret in base64, of that many random bytes, 64 by default.

  --key <kind>   print a new private key instead, for JWT_PRIVATE_KEY (${KEY_KINDS.join(', ')})
  --write <env>  write new secrets to config/<env>/credentials.env instead (${ENVIRONMENTS.join(', ')})
  --force        replace an existing file: every user of that environment is logged out

Examples:
  npm run secret
  npm run secret 32
  npm run secret -- --write prod
  npm run --silent secret -- --key ed25519 > jwt-key.pem      # after umask 077
`

/** Runs the command; returns its exit code. */
export const runSecret = (args: string[]): Promise<number> => run(args).catch(report)

async function run(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    options: {
      key: { type: 'string' },
      write: { type: 'string' },
      force: { type: 'boolean', default: false },
      help: { type: 'boolean' },
    },
    allowPositionals: true,
  })
  if (values.help) {
    process.stdout.write(USAGE)
    return 0
  }
  if (positionals.length > 1) throw new ArgumentError('Give one argument at most, the number of bytes')
  if (values.key !== undefined && (positionals.length > 0 || values.write !== undefined))
    throw new ArgumentError('Give --key without a number of bytes and without --write')
  if (values.write !== undefined) return write(values.write, positionals[0], values.force)
  if (values.key !== undefined) new Secrets().generateKey(values.key)
  else new Secrets().generate(positionals[0])
  return 0
}

async function write(
  environment: string,
  bytes = String(MIN_JWT_SECRET_BYTES),
  overwrite: boolean,
): Promise<number> {
  if (!ENVIRONMENTS.some((known) => known === environment)) {
    const name = JSON.stringify(environment)
    throw new ArgumentError(`The environment ${name} does not exist; use one of ${ENVIRONMENTS.join(', ')}`)
  }
  const jwtSecretBytes = parseWholeNumber(
    'bytes of JWT_SECRET',
    bytes,
    MIN_JWT_SECRET_BYTES,
    MAX_SECRET_BYTES,
  )
  const path = credentialsPath(CONFIG_DIR, environment)
  if (await writeCredentials(CONFIG_DIR, environment, { overwrite, jwtSecretBytes })) {
    process.stdout.write(`Wrote new secrets to ${path}\n`)
    return 0
  }
  process.stderr.write(
    `${path} exists and was not changed. --force replaces it, which logs every user out.\n`,
  )
  return 1
}

function report(error: unknown): number {
  process.stderr.write(`${errorMessage(error)}\n`)
  if (!isUsageError(error)) return 1
  process.stderr.write(`\n${USAGE}`)
  return 2
}

function isUsageError(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return error instanceof ArgumentError || code.startsWith('ERR_PARSE_ARGS')
}
