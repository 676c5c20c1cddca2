import { randomInt, randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { getContainerRuntimeClient, getReaper } from 'testcontainers'
import { onTestFinished } from 'vitest'
import { findFreePort } from './free-port.ts'
import { DEPLOY, docker, imageOf, run, VERSION } from './images.ts'
import { builtServiceImages } from './servers/shared-server.ts'
import { waitFor } from './wait-for.ts'

export interface ComposeOptions {
  /** The compose file, relative to deploy/; docker-compose.yml by default. */
  base?: string
  /** The database; postgres by default. */
  profile?: 'postgres' | 'mysql'
  /** Further compose files, relative to deploy/, over that one. */
  files?: string[]
  environment?: Record<string, string>
  /** Kept by rotate-secret.sh before the start. */
  mailUrl?: string
  /** Added to `docker compose up --wait`. */
  up?: string[]
}

export interface ComposeProject {
  name: string
  api: string
  inbox: string
  /** Runs a shell command in deploy/ as a user of this project would. */
  shell(command: string): Promise<string>
  compose(...args: string[]): Promise<string>
  /** Runs a shell script in the running container of a service. */
  inside(service: string, script: string): Promise<string>
  containersOf(service: string): Promise<string[]>
  /**
   * Kills the first process of a service's container, as a crash or the kernel does. `docker kill` counts as a stop by
   * the user, after which no restart policy applies.
   */
  crash(service: string): Promise<void>
  post(path: string, body: object): Promise<{ status: number; token: string }>
  get(path: string, token: string): Promise<number>
}

/**
 * Starts a compose file under its own project name and ports. It is removed with its volumes when the test ends, also
 * after a timeout; if this process dies, the reaper removes it.
 */
export async function startProject({
  base = 'docker-compose.yml',
  profile = 'postgres',
  files = [],
  environment = {},
  mailUrl,
  up = [],
}: ComposeOptions = {}): Promise<ComposeProject> {
  const name = `latchkey-test-${randomUUID().slice(0, 8)}`
  // Fixed ports: the engine's choice changes whenever a container restarts.
  const [apiPort, inboxPort] = [await findFreePort(), await findFreePort()]
  const env = {
    ...process.env,
    AUTH_API_PORT: `127.0.0.1:${apiPort}`,
    MAILDEV_PORT: `127.0.0.1:${inboxPort}`,
    COMPOSE_PROFILES: profile,
    COMPOSE_PROJECT_NAME: name,
    COMPOSE_FILE: [base, ...files].join(':'),
    LATCHKEY_VERSION: VERSION,
    // Another one than that of the projects beside it.
    CLIENTS_NETWORK: `198.18.${randomInt(256)}`,
    ...environment,
  }
  const ending = new AbortController()
  const compose = async (...args: string[]) =>
    (await run('docker', ['compose', ...args], { cwd: DEPLOY, env, signal: ending.signal })).stdout.trim()
  const killer = `${name}-killer`
  const reaper = await getReaper(await getContainerRuntimeClient())
  reaper.addComposeProject(name)
  onTestFinished(async () => {
    // A pending `up` would start again what `down` removes.
    ending.abort()
    await docker('rm', '-f', killer).catch(() => undefined)
    // By project name, from another folder: compose refuses files that lack a setting.
    await run('docker', ['compose', '-p', name, 'down', '--volumes', '--timeout', '5'], { cwd: tmpdir() })
  })
  const containersOf = async (service: string) => (await compose('ps', '--quiet', service)).split('\n')
  const api = `http://127.0.0.1:${apiPort}`

  const shell = async (command: string) =>
    (await run('sh', ['-ec', command], { cwd: DEPLOY, env, signal: ending.signal })).stdout.trim()

  await builtServiceImages()
  if (mailUrl !== undefined) await shell(`printf '%s' '${mailUrl}' | ./rotate-secret.sh mail-url`)
  await compose('up', '--wait', ...up)
  const sleep = [
    '--no-healthcheck',
    '--pid=host',
    '--user',
    '0',
    '--entrypoint',
    'sleep',
    imageOf('auth-api'),
    'infinity',
  ]
  await docker('run', '--detach', '--name', killer, ...sleep)

  return {
    name,
    api,
    inbox: `http://127.0.0.1:${inboxPort}`,
    compose,
    shell,
    containersOf,
    inside: (service, script) => compose('exec', '-T', service, 'sh', '-c', script),
    async crash(service) {
      const [container = ''] = await containersOf(service)
      const state = async () => docker('inspect', '-f', '{{.State.Pid}} {{.RestartCount}}', container)
      let before = ''
      await waitFor(async () => {
        // The engine backs off before it restarts a container that died soon after its start.
        before = await state()
        return !before.startsWith('0 ')
      })
      const [pid = ''] = before.split(' ')
      await docker('exec', killer, 'sh', '-c', `kill -9 ${pid}`)
      await waitFor(async () => (await state()) !== before)
    },
    async post(path, body) {
      const response = await fetch(`${api}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(10_000),
      })
      const answer = (await response.json()) as { token?: string }
      return { status: response.status, token: answer.token ?? '' }
    },
    async get(path, token) {
      return (await fetch(`${api}${path}`, { headers: { authorization: `Bearer ${token}` } })).status
    },
  }
}
