import { buildServiceImages } from '../support/images.ts'
import type { StartedServer } from './shared-servers.ts'

/** Not a server, but used like one: the first file that needs the images has them built. */
export async function start(): Promise<StartedServer> {
  await buildServiceImages()
  return { url: '', stop: async () => undefined }
}
