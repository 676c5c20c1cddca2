import { chmod, mkdir, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { CliError } from '../cli-error.ts'
import { maskEnvFile, parseEnvFile, renderEnvFile } from '../env-file.ts'
import { EXIT } from '../exit-codes.ts'
import { findAccount } from './account.ts'
import { claimFiles } from './claim-files.ts'
import {
  commandsAfterInstall,
  commandsAfterRollback,
  controlAll,
  findInitSystem,
  type InitSystem,
  NO_INIT_SYSTEM,
  verifyUnit,
} from './init-system.ts'
import type { FoundFile } from './inspect-service.ts'
import type { InstallRequest } from './install-request.ts'
import { withoutMark } from './ownership.ts'
import { parseService } from './parse-service.ts'
import { renderService, type ServiceFile } from './render-service.ts'
import { type Replacement, removeLeftovers, replaceFiles } from './replace-files.ts'
import { requireRoot } from './require-root.ts'
import { environmentFile, logFile, MAIN_FILE, SCRIPTIFY_DIR, type ServiceTemplate } from './service.ts'
import { findServiceCommand } from './service-command.ts'

/**
 * Writes a service for an init system and makes that know it, or leaves all as it was; then starts it, where that is
 * wanted. Gives the lines that tell what was done. All is checked before: exit code 2 for what cannot be written, 3 for what
 * does not exist, 4 for somebody else's files. A service that does not start stays, for a look at it: exit code 1.
 */
export async function* installService(
  request: InstallRequest,
  env: NodeJS.ProcessEnv,
): AsyncGenerator<string> {
  const { interval, ...parsed } = parseService(request)
  const { user, group, environment } = parsed
  if (!request.dryRun) requireRoot('install')
  const system = initSystemFor(request)
  const account = user === undefined ? undefined : await findAccount({ user, group }, request.root)
  const standing = await claimFiles(request)
  const kept = findKept(request, standing, environment)
  const seen = { ...kept.variables, ...environment }
  const command = await findServiceCommand(request, { interval, environment: seen, account, env })
  const files = await renderService({ ...parsed, ...command }, kept.text)
  if (request.dryRun) {
    yield* describe(request, files, system)
    yield* kept.summary.map((what) => `would keep ${what}`)
    return
  }
  const main = join(request.root, MAIN_FILE[request.template](request.name))
  const replaces = standing.some(({ path }) => path === main)
  await putInPlace({ ...request, replaces }, { files, standing, system })
  yield* report(request, files, { replaces })
  yield* kept.summary.map((what) => `Kept ${what}`)
  if (system.systemd && request.template === 'systemd') yield* await verifyUnit(request.name)
  await start(request, system)
}

/** What stays of the environment of the service that is replaced: an admin may have put a secret there by hand. */
function findKept(
  { name, root, force }: InstallRequest,
  standing: readonly FoundFile[],
  given: Readonly<Record<string, string>>,
): { variables: Record<string, string>; text: string; summary: string[] } {
  const path = join(root, environmentFile(name))
  const file = force ? standing.find((found) => found.path === path) : undefined
  const variables = parseEnvFile(file?.text ?? '')
  const names = Object.keys(variables).filter((variable) => !Object.hasOwn(given, variable))
  return {
    variables,
    text: file?.owner === 'own' ? withoutMark(file.text) : renderEnvFile(variables),
    summary: names.length === 0 ? [] : [`from ${path}: ${names.join(', ')}`],
  }
}

/** Refuses to start what does not run here before anything is written. */
function initSystemFor({ root, start, enable, template }: InstallRequest): InitSystem {
  if (root !== '/') {
    if (start || enable) {
      throw new CliError(
        `${start ? '--start' : '--enable'} is not possible with --root: that system does not run here`,
        EXIT.usage,
      )
    }
    return NO_INIT_SYSTEM
  }
  const system = findInitSystem()
  if (start && template === 'systemd' && !system.systemd) {
    throw new CliError('--start: systemd does not run here', EXIT.usage)
  }
  if (start && template === 'upstart' && !system.upstart) {
    throw new CliError('--start: upstart does not run here', EXIT.usage)
  }
  if (enable && template === 'systemd' && !system.systemctl) {
    throw new CliError('--enable: there is no systemctl here', EXIT.usage)
  }
  if (enable && template === 'initd' && !system.updateRcD) {
    throw new CliError('--enable: there is no update-rc.d here', EXIT.usage)
  }
  return system
}

/** Throws exit code 1 when the files cannot be written or the init system does not take them; then none is there. */
async function putInPlace(
  request: InstallRequest & { replaces: boolean },
  {
    files,
    standing,
    system,
  }: { files: readonly ServiceFile[]; standing: readonly FoundFile[]; system: InitSystem },
): Promise<void> {
  const { announce } = commandsAfterInstall(request, system)
  try {
    await write(request.root, { files, standing, confirm: () => controlAll(announce) })
  } catch (error) {
    await controlAll(commandsAfterRollback(request, system))
    const reason = error instanceof Error ? error.message : String(error)
    throw new CliError(`Nothing was installed: ${reason}`, EXIT.failed)
  }
}

async function write(
  root: string,
  {
    files,
    standing,
    confirm,
  }: { files: readonly ServiceFile[]; standing: readonly FoundFile[]; confirm: () => Promise<void> },
): Promise<void> {
  const folder = join(root, SCRIPTIFY_DIR)
  const isNew = (await mkdir(folder, { recursive: true, mode: 0o755 })) !== undefined
  // Whatever the umask is.
  if (isNew) await chmod(folder, 0o755)
  const replacements = files.map(({ path, mode, content }): Replacement => {
    const existing = standing.find((file) => file.path === join(root, path))
    // What an admin gave our own file stays; the original left secrets open to all.
    const keeps = existing?.owner === 'own' && existing.stats
    return {
      path: join(root, path),
      content,
      mode: keeps ? keeps.mode & 0o7777 : mode,
      existing: existing?.stats,
    }
  })
  try {
    await replaceFiles(replacements, confirm)
  } catch (error) {
    if (isNew) await rmdir(folder).catch(() => undefined)
    throw error
  }
  await removeLeftovers(replacements.map(({ path }) => path))
}

async function start(request: InstallRequest, system: InitSystem): Promise<void> {
  const { name, template } = request
  try {
    await controlAll(commandsAfterInstall(request, system).start)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const place = template === 'systemd' ? `journalctl -u ${name}` : logFile(name, template)
    throw new CliError(
      `${name} is installed, but does not start: ${reason}; ${place} tells more`,
      EXIT.failed,
    )
  }
}

function report(
  { name, template, user, root, start, enable }: InstallRequest,
  files: readonly ServiceFile[],
  { replaces }: { replaces: boolean },
): string[] {
  const paths = files.map(({ path }) => join(root, path)).join(', ')
  // From here, nobody could tell its systemd.
  const place =
    root === '/' ? '' : `On that system: ${template === 'systemd' ? 'systemctl daemon-reload && ' : ''}`
  return [
    `Installed ${name} for ${template}: ${paths}`,
    ...(user === undefined ? ['It runs as root; --user names an account of its own'] : []),
    ...(start || template === 'crond'
      ? []
      : [`${place}${NEXT[template](name, replaces ? 'restart' : 'start')}`]),
    ...(enable || root !== '/' || template === 'crond' || template === 'upstart'
      ? []
      : ['It does not start at boot; --enable does that']),
  ]
}

const NEXT = {
  systemd: (name, verb) => `systemctl ${verb} ${name} makes it run`,
  initd: (name, verb) => `service ${name} ${verb} makes it run`,
  upstart: (name, verb) => `${verb} ${name} makes it run`,
} satisfies Record<Exclude<ServiceTemplate, 'crond'>, (name: string, verb: string) => string>

/** All that an installation would do; a variable's value may be a secret, so it is not shown. */
function describe(request: InstallRequest, files: readonly ServiceFile[], system: InitSystem): string[] {
  const { announce, start } = commandsAfterInstall(request, system)
  return [
    ...files.flatMap(({ path, mode, content }) => [
      `==> ${join(request.root, path)} (mode ${mode.toString(8).padStart(4, '0')})`,
      path.endsWith('.env') ? maskEnvFile(content) : content,
    ]),
    ...[...announce, ...start].map(({ words }) => `would run: ${words.join(' ')}`),
  ]
}
