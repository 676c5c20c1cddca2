import { CliError, EXIT } from '../../io/cli-error.ts'
import { requireRoot, startService } from '../control-service.ts'
import type { InitSystem } from '../init-system.ts'
import { type FoundService, inspectService } from '../inspect-service.ts'
import { environmentFile } from '../paths.ts'
import { requireServiceName } from '../service-name.ts'
import { findAccount } from './account.ts'
import { claimFiles, findExtras } from './claim-files.ts'
import {
  describeDifference,
  describeInstallation,
  editedFiles,
  reportInstallation,
} from './describe-installation.ts'
import { completeRequest, type GivenRequest, type InstallRequest } from './install-request.ts'
import { dropChanged, type InstallationRecord, readRecord, type ServiceOptions } from './kept-options.ts'
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
export async function* installService(given: GivenRequest, context: InstallContext): AsyncGenerator<string> {
  const installation = await prepare(given, 'install', context)
  const { request } = installation
  if (request.dryRun) {
    yield* describeInstallation(installation)
    return
  }
  await putInPlace(installation)
  yield* await reportInstallation(installation)
  if (request.root === '/') yield* (await request.system.verify?.(request.name)) ?? []
  if (request.start) await start(request)
}

/**
 * Renders a service again from what it was installed with, and yields the difference; restarts it, if requested. Exit
 * codes as installService, and 4 for a file that somebody has edited.
 */
export async function* upgradeService(
  given: Omit<GivenRequest, keyof ServiceOptions>,
  context: InstallContext,
): AsyncGenerator<string> {
  const installation = await prepare(given, 'upgrade', context)
  const { request } = installation
  requireUnedited(installation)
  const lines = describeDifference(installation)
  yield* lines
  if (lines.length === 0) yield `${request.name} is up to date`
  if (request.dryRun) return
  if (lines.length > 0) await putInPlace(installation)
  if (request.start) await start(request)
  else if (lines.length > 0) yield `Upgraded ${request.name}; it changes when it is restarted`
}

function requireUnedited(installation: Installation): void {
  const [path] = editedFiles(installation)
  if (path === undefined) return
  throw new CliError(
    `${path} was edited by hand; "scriptify install ${installation.request.name} --force" replaces it`,
    EXIT.notPermitted,
  )
}

async function prepare(
  given: GivenRequest,
  task: 'install' | 'upgrade',
  { systems, env }: InstallContext,
): Promise<Installation> {
  requireServiceName(given.name)
  const found = await inspectService(given.name, { root: given.root, systems })
  const record = given.force ? findRecord(given, found) : undefined
  const request = completeRequest(given, record)
  const { system, root } = request
  const { interval, ...parsed } = parseService(request, systems)
  const { user, group, environment } = parsed
  if (!request.dryRun) requireRoot(task)
  requireHost(request)
  const account = user === undefined ? undefined : await findAccount({ user, group }, root)
  const extras = await findExtras(request)
  const existing = await claimFiles(request, { systems, extras, found })
  const kept = findKeptVariables(request, existing, environment)
  const seen = { ...kept.variables, ...environment }
  const command = await findServiceCommand(request, { interval, environment: seen, account, env })
  const service = { ...parsed, ...command }
  const files = await renderService(service, {
    system,
    root,
    keptEnvironment: kept.text,
    extras,
    options: request.options,
  })
  const keptOptions = dropChanged(record?.options ?? {}, given)
  return { request, files, existing, kept, keptOptions, digests: record?.digests ?? {} }
}

/** What an installed service was installed with; throws exit code 2 where that is unknown, and its account is not given. */
function findRecord(
  { name, system, user }: GivenRequest,
  { units, environment }: FoundService,
): InstallationRecord | undefined {
  const record = readRecord(environment?.text ?? '')
  const isInstalled = units.some((unit) => unit.system === system && unit.owner === 'own')
  if (record !== undefined || !isInstalled || user !== undefined) return record
  throw new CliError(
    `${environmentFile(name)} does not say what ${name} was installed with: install it with --force and all its options, --user too`,
    EXIT.usage,
  )
}

/** Throws exit code 2 where the service could be written, but not started or enabled. */
function requireHost({ root, system, ...wanted }: InstallRequest): void {
  for (const action of ['start', 'enable'] as const) {
    if (!wanted[action]) continue
    const reason = root === '/' ? system.reasonAgainst(action) : 'the host of --root does not run here'
    if (reason !== undefined) throw new CliError(`--${action}: ${reason}`, EXIT.usage)
  }
}

const start = ({ name, system, schedule }: InstallRequest): Promise<void> =>
  startService({
    name,
    system,
    commands: system.controlCommands(name, 'restart', schedule !== undefined),
    failure: `${name} is installed, but does not start`,
  })
