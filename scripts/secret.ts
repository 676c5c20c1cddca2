import { parseArgs } from 'node:util'
import { credentialsPath, ENVIRONMENTS, writeCredentials } from '@latchkey/shared/secrets/credentials-file.ts'
import { generateSecret } from '@latchkey/shared/secrets/secret.ts'
import { CONFIG_DIR } from '@latchkey/shared/settings/environment.ts'

const USAGE = `Usage: npm run secret [-- [bytes] [--write <env> [--force]] [--help]]

Prints a fresh base64 secret of that many random bytes, 64 by default.

  --write <env>  write config/<env>/credentials.env with fresh secrets instead (${ENVIRONMENTS.join(', ')})
  --force        overwrite the file if there is one: whoever is logged in there is logged out

Examples:
  npm run secret
  npm run secret 32
  npm run secret -- --write prod
`

process.exitCode = await run(process.argv.slice(2))

async function run(args: string[]): Promise<number> {
  const options = {
    write: { type: 'string' },
    force: { type: 'boolean' },
    help: { type: 'boolean' },
  } as const
  let parsed: ReturnType<typeof parseArgs<{ options: typeof options; allowPositionals: true }>>
  try {
    parsed = parseArgs({ args, options, allowPositionals: true })
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error))
  }
  const { values, positionals } = parsed
  if (values.help) {
    process.stdout.write(USAGE)
    return 0
  }
  if (positionals.length > 1) return refuse('There is one argument, the number of bytes')
  const bytes = Number(positionals[0] ?? 64)
  if (!Number.isInteger(bytes) || bytes < 1 || bytes > 65_536)
    return refuse('The number of bytes must be a whole number from 1 to 65536')
  if (values.write === undefined) {
    process.stdout.write(`${generateSecret(bytes)}\n`)
    return 0
  }
  return write(values.write, { bytes, overwrite: values.force ?? false })
}

async function write(
  environment: string,
  { bytes, overwrite }: { bytes: number; overwrite: boolean },
): Promise<number> {
  if (!ENVIRONMENTS.some((known) => known === environment)) {
    return refuse(
      `There is no environment ${JSON.stringify(environment)}; known are ${ENVIRONMENTS.join(', ')}`,
    )
  }
  if (bytes < 64) return refuse('JWT_SECRET needs at least 64 bytes')
  const path = credentialsPath(CONFIG_DIR, environment)
  if (await writeCredentials(CONFIG_DIR, environment, { overwrite, jwtSecretBytes: bytes })) {
    process.stdout.write(`Wrote fresh secrets to ${path}\n`)
    return 0
  }
  process.stderr.write(
    `${path} is there already and was left as it is. With --force it is replaced, which logs everybody out.\n`,
  )
  return 1
}

function refuse(message: string): number {
  process.stderr.write(`${message}\n\n${USAGE}`)
  return 2
}
