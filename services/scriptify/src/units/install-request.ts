import type { ServiceRequest } from './parse-service.ts'

/** What the user asks for, as typed, and where to install it. */
export interface InstallRequest extends ServiceRequest {
  /** On the system that will run the service. */
  readonly rootdir: string
  readonly bootstrap?: string | undefined
  readonly args: readonly string[]
  readonly runtime?: 'php' | 'node' | undefined
  readonly allowOutside?: boolean | undefined
  /** Looks for the class and the method first. */
  readonly check: boolean
  readonly dryRun: boolean
  readonly force: boolean
  /** `/`, or where another system's files are mounted: then nothing is reloaded or started. */
  readonly root: string
  readonly home?: string | undefined
  readonly program?: string | undefined
}
