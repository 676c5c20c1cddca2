import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { StartedTestContainer } from 'testcontainers'
import { sharedServer } from '../../test/servers/shared-server.ts'

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '')
export const MAIN = `${ROOT}/services/scriptify/src/main.ts`

let answer: Promise<boolean> | undefined

/** Whether the container suites run; without an engine they are skipped, or fail under REQUIRE_DOCKER=1. */
export const hasDocker = (): Promise<boolean> => (answer ??= askDocker())

async function askDocker(): Promise<boolean> {
  try {
    await promisify(execFile)('docker', ['version', '--format', '{{.Server.Version}}'])
    return true
  } catch (error) {
    if (process.env.REQUIRE_DOCKER === '1')
      throw new Error('REQUIRE_DOCKER=1, but no engine answers', { cause: error })
    console.warn('Skipped: no Docker engine answers, and php 8.4 runs in a container')
    return false
  }
}

/** The environment of a machine whose Node compiles each file once, for what the tests run there. */
export const COMPILED_ONCE = { NODE_COMPILE_CACHE: '/var/cache/node' }

/** Name by which the machine reaches what listens on the host, such as the shared servers. */
export const HOST = 'host.docker.internal'

/** A machine with Node 24 and php 8.4, this project at its own path, and nothing running. */
export async function startPhpMachine(): Promise<StartedTestContainer> {
  const { GenericContainer } = await import('testcontainers')
  return new GenericContainer(await sharedServer('php-image'))
    .withBindMounts([{ source: ROOT, target: ROOT, mode: 'ro' }])
    .withEnvironment(COMPILED_ONCE)
    .withWorkingDir(ROOT)
    .withExtraHosts([{ host: HOST, ipAddress: 'host-gateway' }])
    .withCommand(['sleep', 'infinity'])
    .start()
}
