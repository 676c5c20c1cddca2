import { join } from 'node:path'
import { CliError, EXIT, errorMessage } from '../../io/cli-error.ts'
import { createFolders, removeEmptyFolders } from '../folders.ts'
import type { ControlCommand, InitSystem } from '../init-system.ts'
import type { FoundFile } from '../inspect-service.ts'
import { ownFolders, unitFile } from '../paths.ts'
import { type FileOperations, type Replacement, removeLeftovers, replaceFiles } from '../replace-files.ts'
import { controlAll, optionalCommand } from '../run-command.ts'
import type { Service } from '../service.ts'
import type { InstallOptions } from './install-options.ts'
import type { ServiceFile } from './render-service.ts'

/** All that an installation writes and replaces. */
export interface Installation {
  readonly service: Service
  readonly system: InitSystem
  readonly options: InstallOptions
  readonly files: readonly ServiceFile[]
  readonly existing: readonly FoundFile[]
  /** The names of the options and variables of the replaced service that are not given again. */
  readonly kept: readonly string[]
}

/** Writes the files and announces the service; throws exit code 1 when either fails, and then reverts both. */
export async function putInPlace(installation: Installation, operations?: FileOperations): Promise<void> {
  try {
    await write(installation, operations)
  } catch (error) {
    await controlAll(rollbackCommands(installation))
    throw new CliError(`Nothing was installed: ${reasonOf(error, installation)}`, EXIT.failed)
  }
}

function reasonOf(error: unknown, { service: { name } }: Installation): string {
  const { code, syscall }: NodeJS.ErrnoException = error instanceof Error ? error : new Error()
  // Another installation that finished meanwhile has taken the staged files of this one for leftovers, and removed them.
  const isTaken = code === 'EEXIST' || (code === 'ENOENT' && ['link', 'rename'].includes(syscall ?? ''))
  return isTaken
    ? `another installation of ${name} has finished first; see scriptify services`
    : errorMessage(error)
}

/** Commands that make the init system of this host read the service; none for another host. */
export const announceCommands = ({
  service: { root, name, schedule },
  system,
  options: { enable = false },
}: Pick<Installation, 'service' | 'system' | 'options'>): readonly ControlCommand[] =>
  root === '/' ? system.reloadCommands(name, { enable, isScheduled: schedule !== undefined }) : []

/** True where a service of this name and init system is replaced. */
export const replacesUnit = ({ service: { root, name }, system, existing }: Installation): boolean =>
  existing.some(({ path }) => path === join(root, unitFile(system, name)))

async function write(installation: Installation, operations: FileOperations | undefined): Promise<void> {
  const announce = () => controlAll(announceCommands(installation))
  const {
    service: { root, name },
    system,
  } = installation
  const created = await createFolders(ownFolders(system, name).map((folder) => join(root, folder)))
  const replacements = findReplacements(installation)
  try {
    await replaceFiles(replacements, announce, operations)
  } catch (error) {
    await removeEmptyFolders(created)
    throw error
  }
  await removeLeftovers(replacements.map(({ path }) => path))
}

function findReplacements({ service: { root }, files, existing }: Installation): Replacement[] {
  return files.map(({ path, mode, content }) => {
    const present = existing.find((file) => file.path === join(root, path))
    // An admin may have changed the mode of scriptify's file.
    return {
      path: join(root, path),
      content,
      mode: present === undefined ? mode : present.stats.mode & 0o7777,
      existing: present?.stats,
    }
  })
}

/** Commands that make the init system read again what was there before. */
function rollbackCommands(installation: Installation): ControlCommand[] {
  const { service, system, options } = installation
  if (service.root !== '/') return []
  const commands = replacesUnit(installation)
    ? announceCommands({ service, system, options: { ...options, enable: false } })
    : system.forgetCommands(service.name)
  // The first failure is the one to report.
  return commands.map(({ words }) => optionalCommand(...words))
}
