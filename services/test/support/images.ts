import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

export const ROOT = join(import.meta.dirname, '..', '..', '..')
/** The tag of this checkout's images, as docker-compose.yml reads it: two checkouts may be tested at once. */
export const VERSION = process.env.LATCHKEY_VERSION || `test-${hash('sha1', ROOT).slice(0, 8)}`
export const SERVICES = ['auth-api', 'mailer-worker'] as const
export type ServiceName = (typeof SERVICES)[number]

export const imageOf = (service: ServiceName): string => `latchkey/${service}:${VERSION}`

export const run = promisify(execFile)

/** `docker …`, as a user types it; its output without the line end. */
export const docker = async (...args: string[]): Promise<string> =>
  (await run('docker', args, { maxBuffer: 64 * 1024 * 1024 })).stdout.trim()

/** What a container has written so far. */
export async function logsOf(container: string): Promise<string> {
  const { stdout, stderr } = await run('docker', ['logs', container], { maxBuffer: 64 * 1024 * 1024 })
  return stdout + stderr
}

const CHECKOUT = [
  ...['.dockerignore', '.npmrc', 'package.json', 'package-lock.json'],
  ...['admin', 'config', 'migrations', 'scripts', 'services', 'shared', 'templates'],
]

/** What the user of an image cannot read in it when its checkout was made under umask 077, a path a line. */
export async function unreadableInImageOf(service: string): Promise<string> {
  const checkout = await mkdtemp(join(tmpdir(), 'latchkey-umask-'))
  try {
    for (const part of CHECKOUT) {
      const filter = (source: string) => !source.endsWith('node_modules')
      await cp(join(ROOT, part), join(checkout, part), { recursive: true, filter })
    }
    // The packages' own files stay as they are: npm installs from them, and need not do so again for this.
    const own = [checkout, '-mindepth', '2', '!', '-name', 'package.json']
    await run('find', [...own, '-exec', 'chmod', 'go=', '{}', '+'])
    const image = await docker(
      'build',
      '-q',
      '-f',
      join(checkout, `services/${service}/Dockerfile`),
      checkout,
    )
    const list = 'find /app ! -readable -o -type d ! -executable'
    return await docker('run', '--rm', '--entrypoint', 'sh', image, '-c', list)
  } finally {
    await rm(checkout, { recursive: true, force: true })
  }
}

/** Builds the images of both services. */
export async function buildServiceImages(): Promise<void> {
  const args = ['compose', 'build', ...SERVICES]
  await run('docker', args, { cwd: ROOT, env: { ...process.env, LATCHKEY_VERSION: VERSION } })
}
