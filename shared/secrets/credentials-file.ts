import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { link, mkdir, rename, rm, writeFile } from 'node:fs/promises'
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
  // A file that is there under its name is whole, whatever ends this process and whoever reads meanwhile.
  const draft = `${path}.${randomUUID()}.new`
  try {
    await writeFile(draft, credentialsText(environment, jwtSecretBytes), {
      flag: 'wx',
      mode: 0o600,
      flush: true,
    })
    await (overwrite ? rename(draft, path) : link(draft, path))
    return true
  } catch (error) {
    // Another start was first: two at once never mix their secrets.
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}

const credentialsText = (
  environment: string,
  jwtSecretBytes: number,
): string => `# The secrets of ${environment}. Made by Latchkey; never commit this file.
JWT_SECRET=${generateSecret(jwtSecretBytes)}
MAIL_SECRET=${generateSecret(32)}
`
