import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'

export const ROOT = join(import.meta.dirname, '..')
/** The folder in which docker compose finds its files and `.env`. */
export const DEPLOY = join(ROOT, 'deploy')
/** The tag of this checkout's images, as docker-compose.yml reads it: two checkouts may be tested at once. */
export const VERSION = process.env.LATCHKEY_VERSION || `test-${hash('sha1', ROOT).slice(0, 8)}`
export const SERVICES = ['auth-api', 'mailer-worker'] as const
export type ServiceName = (typeof SERVICES)[number]

export const imageOf = (service: ServiceName): string => `latchkey/${service}:${VERSION}`

export const run = promisify(execFile)

/** `docker …`, as a user types it; its output without the line end. */
export const docker = async (...args: string[]): Promise<string> =>
  (await run('docker', args, { maxBuffer: 64 * 1024 * 1024 })).stdout.trim()

/** Returns what a container has written so far. */
export async function logsOf(container: string): Promise<string> {
  const { stdout, stderr } = await run('docker', ['logs', container], { maxBuffer: 64 * 1024 * 1024 })
  return stdout + stderr
}

/** Builds the images of both services; compose builds that of auth-api for `secrets-postgres`, which comes first. */
export async function buildServiceImages(): Promise<void> {
  const args = ['compose', 'build', 'secrets-postgres', 'mailer-worker']
  await run('docker', args, { cwd: DEPLOY, env: { ...process.env, LATCHKEY_VERSION: VERSION } })
}
