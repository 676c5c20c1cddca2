import { buildServiceImages } from '../images.ts'
import type { StartedServer } from './shared-servers.ts'

/** Builds the images when the first test file needs them, like a shared server. */
export async function start(): Promise<StartedServer> {
  await buildServiceImages()
  return { url: '', stop: async () => undefined }
}
