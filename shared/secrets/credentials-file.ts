import { existsSync } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { generateSecret } from './secret.ts'

/** The environments that ship with a `config/<env>/settings.env`. */
export const ENVIRONMENTS = ['dev', 'test', 'staging', 'prod'] as const

/** Where the secrets of an environment lie, below the folder `config/`. */
export const credentialsPath = (configDir: string, environment: string): string =>
  join(configDir, environment, 'credentials.env')

/**
 * Writes `config/<env>/credentials.env` with fresh secrets, readable by its owner only.
 * Returns false, and leaves the file alone, when there is one and `overwrite` is not set.
 */
export async function writeCredentials(
  configDir: string,
  environment: string,
  { overwrite = false, jwtSecretBytes = 64 } = {},
): Promise<boolean> {
  const path = credentialsPath(configDir, environment)
  if (!overwrite && existsSync(path)) return false
  await mkdir(dirname(path), { recursive: true })
  try {
    // `wx` fails when the file came into being meanwhile: two starts at once never mix their secrets.
    await using file = await open(path, overwrite ? 'w' : 'wx', 0o600)
    await file.chmod(0o600)
    await file.writeFile(credentialsText(environment, jwtSecretBytes))
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

const credentialsText = (
  environment: string,
  jwtSecretBytes: number,
): string => `# The secrets of ${environment}. Made by Latchkey; never commit this file.
JWT_SECRET=${generateSecret(jwtSecretBytes)}
MAIL_SECRET=${generateSecret(32)}
`
