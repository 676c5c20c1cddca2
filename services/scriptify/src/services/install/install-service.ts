import { join, resolve } from 'node:path'
import { CliError, EXIT } from '../../io/cli-error.ts'
import { requireRoot, startService } from '../control-service.ts'
import { parseEnvFile, requireReadableEnvFile } from '../env-file.ts'
import type { InitSystem } from '../init-system.ts'
import { inspectService } from '../inspect-service.ts'
import { listServices } from '../list-services.ts'
import { environmentFile } from '../paths.ts'
import { requireServiceName } from '../service-name.ts'
import { findAccount } from './account.ts'
import { claimFiles, findExtras, requireSameSystem } from './claim-files.ts'
import { describeInstallation, reportInstallation } from './describe-installation.ts'
import { addRecorded, type InstallOptions } from './install-options.ts'
import { parseService } from './parse-service.ts'
import { type Installation, putInPlace } from './put-in-place.ts'
import { renderService } from './render-service.ts'
import { findServiceCommand } from './service-command.ts'

interface InstallContext {
  readonly systems: readonly InitSystem[]
  readonly env: NodeJS.ProcessEnv
}

/**
 * Writes the files of a service and announces it to its init system, or leaves everything unchanged; then starts it, if
 * requested. Yields the lines that report this, or with --dry-run would. Everything is checked first: exit code 2 for what
 * cannot be written, 3 for what does not exist, 4 for files of someone else. A service that fails to start stays
 * installed: exit code 1.
 */
export async function* installService(
  given: InstallOptions,
  context: InstallContext,
): AsyncGenerator<string> {
  const installation = await prepare(given, context)
  if (given.dryRun) {
    yield* describeInstallation(installation)
    return
  }
  await putInPlace(installation)
  yield* await reportInstallation(installation)
  if (given.start) await start(installation)
}

async function prepare(given: InstallOptions, { systems, env }: InstallContext): Promise<Installation> {
  const { name, root } = given
  requireServiceName(name)
  const system = await chooseSystem(given, systems)
  const found = await inspectService(name, { root, systems })
  requireSameSystem(name, system, found)
  const { options, kept } = addRecorded(given, found)
  const parsed = parseService(options, system, systems)
  if (!options.dryRun) requireRoot('install')
  requireHost(options, system)
  const { user, group } = parsed
  const account = user === undefined ? undefined : await findAccount({ user, group }, root)
  const extras = await findExtras(parsed, system)
  const existing = await claimFiles(parsed, system, { systems, extras, found, force: options.force === true })
  const environmentPath = join(root, environmentFile(name))
  const keptEnvironment = existing.find(({ path }) => path === environmentPath)?.text ?? ''
  requireReadableEnvFile(keptEnvironment, environmentPath)
  const keptVariables = parseEnvFile(keptEnvironment)
  const command = await findServiceCommand(options, {
    interval: parsed.interval,
    environment: { ...keptVariables, ...parsed.environment },
    account,
    env,
  })
  const service = { ...parsed, ...command }
  const recorded = { ...options, rootdir: writtenFolder(options) }
  const files = await renderService(service, system, { keptEnvironment, extras, recorded })
  const variables = Object.keys(keptVariables).filter((each) => !Object.hasOwn(parsed.environment, each))
  return { service, system, options, files, existing, kept: [...kept, ...variables] }
}

/** The init system that is given, else that of the service to be replaced, else the first. */
async function chooseSystem(
  { name, template, force, root }: InstallOptions,
  systems: readonly InitSystem[],
): Promise<InitSystem> {
  const installed = template === undefined && force ? await listServices({ root, systems }) : []
  const wanted = template ?? installed.find((service) => service.name === name)?.template ?? systems[0]?.name
  const system = systems.find((known) => known.name === wanted)
  // Commander takes registered names only.
  if (system === undefined) throw new Error(`${wanted} is not an init system`)
  return system
}

/** The project's folder as the host that runs the service sees it. */
const writtenFolder = ({ rootdir = '.', root }: InstallOptions): string =>
  root === '/' ? resolve(rootdir) : resolve('/', rootdir)

/** Throws exit code 2 where the service could be written, but not started or enabled. */
function requireHost({ root, ...wanted }: InstallOptions, system: InitSystem): void {
  for (const action of ['start', 'enable'] as const) {
    if (!wanted[action]) continue
    const reason = root === '/' ? system.reasonAgainst(action) : 'the host of --root does not run here'
    if (reason !== undefined) throw new CliError(`--${action}: ${reason}`, EXIT.usage)
  }
}

const start = ({ service: { name, schedule }, system }: Installation): Promise<void> =>
  startService({
    name,
    system,
    commands: system.controlCommands(name, 'restart', schedule !== undefined),
    failure: `${name} is installed, but does not start`,
  })
