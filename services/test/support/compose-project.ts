import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { getContainerRuntimeClient, getReaper } from 'testcontainers'
import { onTestFinished } from 'vitest'
import { findFreePort } from '../../mailer-worker/test/support/free-port.ts'
import { waitFor } from '../../mailer-worker/test/support/wait-for.ts'
import { builtServiceImages } from '../servers/shared-server.ts'
import { docker, imageOf, ROOT, run, VERSION } from './images.ts'

export interface ComposeOptions {
  /** Which database it runs on; postgres by default. */
  profile?: 'postgres' | 'mysql'
  /** Further compose files, relative to the root, over docker-compose.yml. */
  files?: string[]
  environment?: Record<string, string>
  /** Added to `docker compose up --wait`. */
  up?: string[]
}

export interface ComposeProject {
  api: string
  inbox: string
  /** Runs a shell command in the repository's root as a user of this project would. */
  shell(command: string): Promise<string>
  compose(...args: string[]): Promise<string>
  /** Runs a shell script in the running container of a service. */
  inside(service: string, script: string): Promise<string>
  containersOf(service: string): Promise<string[]>
  /**
   * Kills the first process of a service's container as a crash or the kernel would. After `docker kill` the engine
   * takes it that somebody wants the container down, and no restart policy brings it back.
   */
  crash(service: string): Promise<void>
  post(path: string, body: object): Promise<{ status: number; token: string }>
  get(path: string, token: string): Promise<number>
}

/**
 * docker-compose.yml under a name and ports of its own. It ends, with its volumes, when the test does: even one that ran out
 * of time, whose containers would slow down all that follow. Where this process dies instead, the reaper ends it.
 */
export async function startProject({
  profile = 'postgres',
  files = [],
  environment = {},
  up = [],
}: ComposeOptions = {}): Promise<ComposeProject> {
  const name = `latchkey-test-${randomUUID().slice(0, 8)}`
  // Fixed ports: those that the engine picks change whenever a container restarts.
  const [apiPort, inboxPort] = [await findFreePort(), await findFreePort()]
  const env = {
    ...process.env,
    AUTH_API_PORT: `127.0.0.1:${apiPort}`,
    MAILDEV_PORT: `127.0.0.1:${inboxPort}`,
    COMPOSE_PROFILES: profile,
    COMPOSE_PROJECT_NAME: name,
    COMPOSE_FILE: ['docker-compose.yml', ...files].join(':'),
    LATCHKEY_VERSION: VERSION,
    ...environment,
  }
  const ending = new AbortController()
  const compose = async (...args: string[]) =>
    (await run('docker', ['compose', ...args], { cwd: ROOT, env, signal: ending.signal })).stdout.trim()
  const killer = `${name}-killer`
  const reaper = await getReaper(await getContainerRuntimeClient())
  reaper.addComposeProject(name)
  onTestFinished(async () => {
    // An `up` that is not done yet would bring back what is taken down.
    ending.abort()
    await docker('rm', '-f', killer).catch(() => undefined)
    // By name, wherever: files that lack a setting would be refused.
    await run('docker', ['compose', '-p', name, 'down', '--volumes', '--timeout', '5'], { cwd: tmpdir() })
  })
  const containersOf = async (service: string) => (await compose('ps', '--quiet', service)).split('\n')
  const api = `http://127.0.0.1:${apiPort}`

  await builtServiceImages()
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
    api,
    inbox: `http://127.0.0.1:${inboxPort}`,
    compose,
    shell: async (command) =>
      (await run('sh', ['-ec', command], { cwd: ROOT, env, signal: ending.signal })).stdout.trim(),
    containersOf,
    inside: (service, script) => compose('exec', '-T', service, 'sh', '-c', script),
    async crash(service) {
      const [container = ''] = await containersOf(service)
      const state = async () => docker('inspect', '-f', '{{.State.Pid}} {{.RestartCount}}', container)
      let before = ''
      await waitFor(async () => {
        // The engine waits ever longer before it starts again what dies soon after its start.
        before = await state()
        return !before.startsWith('0 ')
      }, 90_000)
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
