import { docker, VERSION } from '../images.ts'
import type { StartedServer } from './shared-servers.ts'

const EXAMPLE = 'docs/examples/high-availability'

export async function start(): Promise<StartedServer> {
  const image = `latchkey/patroni:${VERSION}`
  await docker('build', '--tag', image, '--file', `${EXAMPLE}/patroni.Dockerfile`, EXAMPLE)
  return { url: image, stop: async () => undefined }
}
