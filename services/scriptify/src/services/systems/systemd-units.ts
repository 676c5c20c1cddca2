import { existsSync, lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { linksTo, namesIn } from '../folders.ts'
import type { ControlCommand } from '../init-system.ts'
import { ownershipMark } from '../ownership.ts'
import { optionalCommand } from '../run-command.ts'

export const UNIT_FOLDER = '/etc/systemd/system'
export const TIMER_PATH = `${UNIT_FOLDER}/{name}.timer`
const SEARCH_PATH = ['/usr/lib', '/lib', '/usr/local/lib', '/etc', '/run']
/** The units that start a service of their name, and that service. */
const KINDS = ['service', 'timer', 'socket', 'path']
const SYSTEM = { name: 'systemd' }

/** Paths of the units that would start a service of this name, or that service. */
export const namesakes = (name: string): string[] =>
  SEARCH_PATH.flatMap((folder) =>
    // An admin may write a timer for a service of scriptify.
    (folder === '/etc' ? ['service'] : KINDS).map((kind) => `${folder}/systemd/system/${name}.${kind}`),
  )

/** The unit that is enabled and started. */
export const unitOf = (name: string, isScheduled: boolean): string =>
  `${name}.${isScheduled ? 'timer' : 'service'}`

/** True where the service has a timer of scriptify's; an admin may have written another. */
export function hasTimer(name: string): boolean {
  const path = TIMER_PATH.replace('{name}', name)
  return existsSync(path) && readFileSync(path, 'utf8').includes(ownershipMark(name, SYSTEM))
}

/** Commands that stop what still runs of a unit whose file is gone, unless another of its name takes its place. */
export const stopGoneUnitCommands = (name: string): ControlCommand[] =>
  [`${name}.timer`, `${name}.service`]
    .filter((unit) => !isForeignUnit(unit))
    .map((unit) => optionalCommand('systemctl', 'stop', unit))

/** True where a unit of this name exists that scriptify did not write. */
export const isForeignUnit = (unit: string, root = '/'): boolean =>
  SEARCH_PATH.map((folder) => join(root, folder, 'systemd/system', unit)).some((path) => {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    if (stats === undefined) return false
    // scriptify writes no link, and what one leads to may be outside of the root.
    if (stats.isSymbolicLink()) return true
    return !readFileSync(path, 'utf8').includes(ownershipMark(unit.split('.')[0] ?? '', SYSTEM))
  })

export async function findLinks(name: string, root: string): Promise<string[]> {
  const links = [`${name}.service`, `${name}.timer`].map(async (unit) =>
    linksTo(await linkPaths([unit], root, UNIT_FOLDER), `${UNIT_FOLDER}/${unit}`, root),
  )
  return (await Promise.all(links)).flat()
}

/** The paths in a folder at which an enabled unit has a link. */
async function linkPaths(units: readonly string[], root: string, folder: string): Promise<string[]> {
  const groups = (await namesIn(join(root, folder))).filter((group) => /\.(wants|requires)$/.test(group))
  return groups.flatMap((group) => units.map((unit) => join(root, folder, group, unit)))
}
