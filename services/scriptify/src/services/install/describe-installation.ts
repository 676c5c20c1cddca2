import { join } from 'node:path'
import { maskEnvFile } from '../env-file.ts'
import { announceCommands, type Installation, replacesUnit } from './put-in-place.ts'

/** All that an installation would do. The value of a variable may be a secret, so it is masked. */
export function describeInstallation(installation: Installation): string[] {
  const { service, system, options, files, kept } = installation
  const { root, name, schedule } = service
  const commands = [
    ...announceCommands(installation),
    ...(options.start ? system.controlCommands(name, 'restart', schedule !== undefined) : []),
  ]
  return [
    ...files.flatMap(({ path, mode, content }) => [
      `==> ${join(root, path)} (mode ${mode.toString(8).padStart(4, '0')})`,
      path.endsWith('.env') ? maskEnvFile(content) : content,
    ]),
    ...commands.map(({ words }) => `would run: ${words.join(' ')}`),
    ...(kept.length > 0 ? [`would keep: ${kept.join(', ')}`] : []),
  ]
}

/** Returns what an installation has done, and what the admin has to do next. */
export async function reportInstallation(installation: Installation): Promise<string[]> {
  const { service, system, files, kept } = installation
  const paths = files.map(({ path }) => join(service.root, path)).join(', ')
  return [
    `Installed ${service.name} for ${system.name}: ${paths}`,
    ...(service.user === undefined ? ['It runs as root; --user gives it its own account'] : []),
    ...(await nextSteps(installation)),
    ...(kept.length > 0 ? [`Kept: ${kept.join(', ')}`] : []),
  ]
}

async function nextSteps(installation: Installation): Promise<string[]> {
  const { service, system, options } = installation
  const { name, root } = service
  const elsewhere = root !== '/'
  const reason = elsewhere ? undefined : system.reasonAgainst('start')
  const startsByItself = options.start || system.refuses['--start'] !== undefined
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
async function startsAtBoot({
  service: { name, root },
  system,
  options: { enable },
}: Installation): Promise<boolean> {
  if (enable || system.refuses['--enable'] !== undefined) return true
  return (await system.links(name, root)).length > 0
}
