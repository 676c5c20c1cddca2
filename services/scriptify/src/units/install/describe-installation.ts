import { join } from 'node:path'
import { diff } from 'node:util'
import { maskEnvFile } from '../env-file.ts'
import { findEdited, formatOptions } from './kept-options.ts'
import { announceCommands, type Installation, replacesUnit } from './put-in-place.ts'

/** All that an installation would do. The value of a variable may be a secret, so it is masked. */
export function describeInstallation(installation: Installation): string[] {
  const { request, files } = installation
  const { root, system, name, start, schedule } = request
  const commands = [
    ...announceCommands(request),
    ...(start ? system.controlCommands(name, 'restart', schedule !== undefined) : []),
  ]
  return [
    ...files.flatMap(({ path, mode, content }) => [
      `==> ${join(root, path)} (mode ${mode.toString(8).padStart(4, '0')})`,
      path.endsWith('.env') ? maskEnvFile(content) : content,
    ]),
    ...commands.map(({ words }) => `would run: ${words.join(' ')}`),
    ...editedFiles(installation).map((path) => `would replace ${path}, which was edited by hand`),
    ...describeKept(installation).map((text) => `would keep ${text}`),
  ]
}

/** The files to be replaced that somebody has edited. */
export const editedFiles = (installation: Installation): string[] =>
  findEdited(installation.existing, installation, installation.request.root)

/** What a new installation leaves as it was. */
function describeKept({ kept, keptOptions }: Installation): string[] {
  const options = formatOptions(keptOptions)
  return [...(options === '' ? [] : [options]), ...(kept.summary === undefined ? [] : [kept.summary])]
}

/** The lines that a new installation changes in each of its files; none for a file that stays as it is. */
export function describeDifference({ request: { root }, files, existing }: Installation): string[] {
  return files.flatMap(({ path, content }) => {
    const before = existing.find((file) => file.path === join(root, path))?.text ?? ''
    const changed = diff(linesOf(path, content), linesOf(path, before)).filter(([kind]) => kind !== 0)
    return changed.length === 0
      ? []
      : [`==> ${join(root, path)}`, ...changed.map(([kind, line]) => `${kind > 0 ? '+' : '-'} ${line}`)]
  })
}

/** The value of a variable may be a secret, so it is masked. */
const linesOf = (path: string, content: string): string[] =>
  (path.endsWith('.env') ? maskEnvFile(content) : content).trimEnd().split('\n')

/** What an installation has done, and what the admin has to do next. */
export async function reportInstallation(installation: Installation): Promise<string[]> {
  const { request, files } = installation
  const paths = files.map(({ path }) => join(request.root, path)).join(', ')
  return [
    `Installed ${request.name} for ${request.system.name}: ${paths}`,
    ...(request.user === undefined ? ['It runs as root; --user gives it its own account'] : []),
    ...(await nextSteps(installation)),
    ...editedFiles(installation).map((path) => `Replaced ${path}, which was edited by hand`),
    ...describeKept(installation).map((text) => `Kept ${text}`),
  ]
}

async function nextSteps(installation: Installation): Promise<string[]> {
  const { name, system, root, start } = installation.request
  const elsewhere = root !== '/'
  const reason = elsewhere ? undefined : system.reasonAgainst('start')
  const startsByItself = start || system.refuses['--start'] !== undefined
  const hint = `scriptify ${replacesUnit(installation) ? 'restart' : 'start'} ${name}`
  return [
    ...(reason === undefined ? [] : [`Nothing starts it: ${reason}`]),
    ...(startsByItself || reason !== undefined
      ? []
      : [`${elsewhere ? 'Start it on that host' : 'Start it'} with: ${hint}`]),
    ...(elsewhere || (await startsAtBoot(installation))
      ? []
      : ['It does not start at boot; --enable changes that']),
  ]
}

/** The service that this one replaces may have been enabled. */
async function startsAtBoot({ request: { name, system, root, enable } }: Installation): Promise<boolean> {
  if (enable || system.refuses['--enable'] !== undefined) return true
  const links = await system.links?.(name, root)
  return links !== undefined && links.length > 0
}
