import { join } from 'node:path'
import { GenericContainer } from 'testcontainers'
import type { StartedServer } from './shared-servers.ts'

const SCRIPTIFY_TESTS = join(import.meta.dirname, '../../services/scriptify/test')

/** An image, built when the first test file needs it: files that build it at the same time would each build all of it. */
const imageOf = (name: string, folder: string, dockerfile: string) => ({
  async start(): Promise<StartedServer> {
    const image = GenericContainer.fromDockerfile(join(SCRIPTIFY_TESTS, folder), dockerfile)
    await image.build(name, { deleteOnExit: false })
    return { url: name, stop: async () => undefined }
  },
})

/** Node 24 and php 8.4 with systemd, other init systems and Composer. */
export const systemdPhp = imageOf('latchkey-test/systemd-php:1', 'services', 'systemd-php.Dockerfile')
/** Systemd and Node 24. */
export const systemdNode = imageOf('latchkey-test/systemd-node:1', 'services', 'systemd-node.Dockerfile')
