import { resolve } from 'node:path'
import { CliError, EXIT } from '../../io/cli-error.ts'
import type { InitSystem } from '../init-system.ts'
import { dropChanged, type InstallationRecord, type ServiceOptions } from './kept-options.ts'
import type { ServiceRequest } from './parse-service.ts'

/** What is to be installed, and where. */
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
  /** The variables of scriptify itself, such as SCRIPTIFY_MEMORY_LIMIT. */
  readonly settings: Readonly<Record<string, string>>
  /** The options that are recorded for the next installation. */
  readonly options: ServiceOptions
}

/** The options of `install`, as typed; what is not there was not given. */
export interface GivenRequest
  extends ServiceOptions,
    Pick<
      InstallRequest,
      'name' | 'env' | 'enable' | 'start' | 'hide' | 'check' | 'dryRun' | 'force' | 'root'
    > {
  readonly system: InitSystem
}

/** Takes what is not given from the installed service, else the defaults; throws exit code 2 without a method. */
export function completeRequest(given: GivenRequest, kept: InstallationRecord | undefined): InstallRequest {
  const { name, system, env, enable, start, hide, check, dryRun, force, root, ...options } = given
  const earlier = dropChanged(kept?.options ?? {}, options)
  const merged = { ...earlier, ...options, settings: { ...earlier.settings, ...options.settings } }
  const { class: reference, rootdir = '.' } = merged
  if (reference === undefined) throw new CliError(`Which method is ${name}? Name it by --class`, EXIT.usage)
  const complete = {
    ...merged,
    class: reference,
    rootdir: root === '/' ? resolve(rootdir) : resolve('/', rootdir),
  }
  return {
    args: [],
    hardening: true,
    privateTmp: true,
    ...complete,
    ...{ name, system, env, enable, start, hide, check, dryRun, force, root },
    options: complete,
  }
}
