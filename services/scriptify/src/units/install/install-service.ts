import { CliError, EXIT } from '../../io/cli-error.ts'
import { requireRoot, startService } from '../control-service.ts'
import type { InitSystem } from '../init-system.ts'
import { findAccount } from './account.ts'
import { claimFiles, findExtras } from './claim-files.ts'
import { describeInstallation, reportInstallation } from './describe-installation.ts'
import type { InstallRequest } from './install-request.ts'
import { findKeptVariables } from './kept-variables.ts'
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
  request: InstallRequest,
  context: InstallContext,
): AsyncGenerator<string> {
  const installation = await prepare(request, context)
  if (request.dryRun) {
    yield* describeInstallation(installation)
    return
  }
  await putInPlace(installation)
  yield* await reportInstallation(installation)
  if (request.root === '/') yield* (await request.system.verify?.(request.name)) ?? []
  if (request.start) await start(request)
}

async function prepare(request: InstallRequest, { systems, env }: InstallContext): Promise<Installation> {
  const { system, root } = request
  const { interval, ...parsed } = parseService(request, systems)
  const { user, group, environment } = parsed
  if (!request.dryRun) requireRoot('install')
  checkHost(request)
  const account = user === undefined ? undefined : await findAccount({ user, group }, root)
  const extras = await findExtras(request)
  const existing = await claimFiles(request, { systems, extras })
  const kept = findKeptVariables(request, existing, environment)
  const seen = { ...kept.variables, ...environment }
  const command = await findServiceCommand(request, { interval, environment: seen, account, env })
  const service = { ...parsed, ...command }
  const files = await renderService(service, { system, root, keptEnvironment: kept.text, extras })
  return { request, files, existing, kept }
}

/** Throws exit code 2 where the service could be written, but not started or enabled. */
function checkHost({ root, system, ...wanted }: InstallRequest): void {
  for (const action of ['start', 'enable'] as const) {
    if (!wanted[action]) continue
    const obstacle = root === '/' ? system.obstacle(action) : 'the host of --root does not run here'
    if (obstacle !== undefined) throw new CliError(`--${action}: ${obstacle}`, EXIT.usage)
  }
}

const start = ({ name, system, schedule }: InstallRequest): Promise<void> =>
  startService({
    name,
    system,
    commands: system.control(name, 'restart', schedule !== undefined),
    failure: `${name} is installed, but does not start`,
  })
