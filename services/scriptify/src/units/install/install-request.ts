import type { ServiceRequest } from './parse-service.ts'

/** The options of `install`, as typed, and where to install. */
export interface InstallRequest extends ServiceRequest {
  /** The project's folder as the host that runs the service sees it. */
  readonly rootdir: string
  readonly bootstrap?: string | undefined
  readonly args: readonly string[]
  readonly runtime?: 'php' | 'node' | undefined
  readonly allowOutside?: boolean | undefined
  /** Whether the class and the method have to exist. */
  readonly check: boolean
  readonly dryRun: boolean
  /** Whether an installed service of scriptify may be replaced. */
  readonly force: boolean
  /** `/`, or the folder where the files of another host are mounted; there nothing is reloaded or started. */
  readonly root: string
  readonly home?: string | undefined
  readonly program?: string | undefined
}
