import { join } from 'node:path'
import { maskEnvFile } from '../env-file.ts'
import { announceCommands, type Installation, replacesUnit } from './put-in-place.ts'

/** All that an installation would do. The value of a variable may be a secret, so it is masked. */
export function describeInstallation({ request, files, kept }: Installation): string[] {
  const { root, system, name, start, schedule } = request
  const commands = [
    ...announceCommands(request),
    ...(start ? system.control(name, 'restart', schedule !== undefined) : []),
  ]
  return [
    ...files.flatMap(({ path, mode, content }) => [
      `==> ${join(root, path)} (mode ${mode.toString(8).padStart(4, '0')})`,
      path.endsWith('.env') ? maskEnvFile(content) : content,
    ]),
    ...commands.map(({ words }) => `would run: ${words.join(' ')}`),
    ...(kept.summary === undefined ? [] : [`would keep ${kept.summary}`]),
  ]
}

/** What an installation has done, and what the admin has to do next. */
export async function reportInstallation(installation: Installation): Promise<string[]> {
  const { request, files, kept } = installation
  const paths = files.map(({ path }) => join(request.root, path)).join(', ')
  return [
    `Installed ${request.name} for ${request.system.name}: ${paths}`,
    ...(request.user === undefined ? ['It runs as root; --user gives it its own account'] : []),
    ...(await nextSteps(installation)),
    ...(kept.summary === undefined ? [] : [`Kept ${kept.summary}`]),
  ]
}

async function nextSteps(installation: Installation): Promise<string[]> {
  const { name, system, root, start } = installation.request
  const elsewhere = root !== '/'
  const obstacle = elsewhere ? undefined : system.obstacle('start')
  const startsByItself = start || system.refuses['--start'] !== undefined
  const hint = `scriptify ${replacesUnit(installation) ? 'restart' : 'start'} ${name}`
  return [
    ...(obstacle === undefined ? [] : [`Nothing starts it: ${obstacle}`]),
    ...(startsByItself || obstacle !== undefined
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
