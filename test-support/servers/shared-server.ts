import { inject } from 'vitest'
import type { SharedServer } from './shared-servers.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The address at which `shared-servers.ts` listens. */
    sharedServersUrl: string
    hasDocker: boolean
  }
}

/** True where a Docker engine answers; without one the suites that need containers are skipped. */
export const hasDocker = (): boolean => inject('hasDocker')

/** The address of a server that all test files of a run share, with the rights of its administrator; waits until it is up. */
export async function sharedServer(name: SharedServer): Promise<string> {
  const response = await fetch(`${inject('sharedServersUrl')}/${name}`)
  const answer = await response.text()
  if (!response.ok) throw new Error(`The shared ${name} does not start: ${answer}`)
  return answer
}

/** Waits until the images of both services are built from this checkout. */
export const builtServiceImages = async (): Promise<void> => void (await sharedServer('service-images'))

/** Waits until the image of scriptify is built from this checkout. */
export const builtScriptifyImage = async (): Promise<void> => void (await sharedServer('scriptify-image'))
