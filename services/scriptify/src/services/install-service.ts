import { chmod, mkdir, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { CliError } from '../cli-error.ts'
import { maskEnvFile, parseEnvFile, renderEnvFile } from '../env-file.ts'
import { EXIT } from '../exit-codes.ts'
import { findAccount } from './account.ts'
import { claimFiles } from './claim-files.ts'
import {
  type ControlCommand,
  commandsAfterInstall,
  control,
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
import { environmentFile, SCRIPTIFY_DIR, type ServiceTemplate } from './service.ts'
import { findServiceCommand } from './service-command.ts'

/**
 * Writes a service for an init system, all its files or none, and gives the lines that tell what was done. All is
 * checked before: exit code 2 for what cannot be written, 3 for what does not exist, 4 for somebody else's files.
 */
export async function installService(request: InstallRequest, env: NodeJS.ProcessEnv): Promise<string[]> {
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
  const commands = commandsAfterInstall(request, system)
  if (request.dryRun) {
    return [...describe(request.root, files, commands), ...kept.summary.map((what) => `would keep ${what}`)]
  }
  await write(request.root, files, standing)
  for (const command of commands) await control(command)
  const warnings = system.systemd && request.template === 'systemd' ? await verifyUnit(request.name) : []
  return [
    ...report(request, files, { replaces: standing.length > 0 }),
    ...kept.summary.map((what) => `Kept ${what}`),
    ...warnings,
  ]
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
  if (enable && template === 'systemd' && !system.systemctl) {
    throw new CliError('--enable: there is no systemctl here', EXIT.usage)
  }
  if (enable && template === 'initd' && !system.updateRcD) {
    throw new CliError('--enable: there is no update-rc.d here', EXIT.usage)
  }
  return system
}

async function write(
  root: string,
  files: readonly ServiceFile[],
  standing: readonly FoundFile[],
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
    await replaceFiles(replacements)
  } catch (error) {
    if (isNew) await rmdir(folder).catch(() => undefined)
    const reason = error instanceof Error ? error.message : String(error)
    throw new CliError(`Nothing was installed: ${reason}`, EXIT.failed)
  }
  await removeLeftovers(replacements.map(({ path }) => path))
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
function describe(
  root: string,
  files: readonly ServiceFile[],
  commands: readonly ControlCommand[],
): string[] {
  return [
    ...files.flatMap(({ path, mode, content }) => [
      `==> ${join(root, path)} (mode ${mode.toString(8).padStart(4, '0')})`,
      path.endsWith('.env') ? maskEnvFile(content) : content,
    ]),
    ...commands.map(({ words }) => `would run: ${words.join(' ')}`),
  ]
}
