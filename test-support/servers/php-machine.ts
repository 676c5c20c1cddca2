import { resolve } from 'node:path'
import { GenericContainer } from 'testcontainers'
import type { StartedServer } from './shared-servers.ts'

const ROOT = resolve(import.meta.dirname, '../..')

/**
 * A container with Node 24 and php 8.4, this project at its own path, and nothing running; its address is its id. Its Node
 * compiles each file once.
 */
export async function start(): Promise<StartedServer> {
  const folder = resolve(ROOT, 'services/scriptify/test')
  const image = GenericContainer.fromDockerfile(folder, 'terminal-php.Dockerfile')
  const machine = await (await image.build('latchkey-test/php:8.4', { deleteOnExit: false }))
    .withBindMounts([{ source: ROOT, target: ROOT, mode: 'ro' }])
    .withEnvironment({ NODE_COMPILE_CACHE: '/var/cache/node' })
    .withWorkingDir(ROOT)
    .withExtraHosts([{ host: 'host.docker.internal', ipAddress: 'host-gateway' }])
    .withCommand(['sleep', 'infinity'])
    .start()
  return { url: machine.getId(), stop: () => machine.stop() }
}
