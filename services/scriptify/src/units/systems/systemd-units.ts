import { existsSync, lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode } from '../../io/cli-error.ts'
import { linksTo, lstatIfAny, namesIn } from '../folders.ts'
import type { ControlCommand } from '../init-system.ts'
import { ownershipMark } from '../ownership.ts'
import { optionalCommand } from '../run-command.ts'
import { isActive, propertiesOf } from './systemctl.ts'

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

export async function reasonAgainstNamesake(name: string, root: string): Promise<string | undefined> {
  const units = KINDS.map((kind) => `${name}.${kind}`)
  for (const folder of SEARCH_PATH.filter((each) => each !== '/etc')) {
    const [link] = await existingLinks(units, root, `${folder}/systemd/system`)
    // `systemctl disable` does not remove it, and it would start the service that hides this one.
    if (link !== undefined) return `${link} starts it at boot: choose another name`
  }
  const inUse: string[] = []
  for (const unit of units) {
    if (
      (await existingLinks([unit], root, UNIT_FOLDER)).length > 0 ||
      (root === '/' && (await isActive(unit)))
    ) {
      inUse.push(unit)
    }
  }
  if (inUse.length === 0) return undefined
  const disable = root === '/' ? 'disable --now' : `--root=${root} disable`
  return `it is in use: run "systemctl ${disable} ${inUse.join(' ')}" first, or choose another name`
}

async function existingLinks(units: readonly string[], root: string, folder: string): Promise<string[]> {
  const paths = await linkPaths(units, root, folder)
  const stats = await Promise.all(paths.map((path) => lstatIfAny(path)))
  return paths.filter((_, index) => stats[index] !== undefined)
}

/** The unit that is enabled and started. */
export const unitOf = (name: string, isScheduled: boolean): string =>
  `${name}.${isScheduled ? 'timer' : 'service'}`

/** Whether the service has a timer of scriptify's; an admin may have written another. */
export function hasTimer(name: string): boolean {
  const path = TIMER_PATH.replace('{name}', name)
  return existsSync(path) && readFileSync(path, 'utf8').includes(ownershipMark(name, SYSTEM))
}

/** Commands that stop what still runs of a unit whose file is gone, unless another of its name takes its place. */
export const stopGoneUnitCommands = (name: string): ControlCommand[] =>
  [`${name}.timer`, `${name}.service`]
    .filter((unit) => !isForeignUnit(unit))
    .map((unit) => optionalCommand('systemctl', 'stop', unit))

/** Whether a unit of this name exists that scriptify did not write. */
export const isForeignUnit = (unit: string, root = '/'): boolean =>
  SEARCH_PATH.map((folder) => join(root, folder, 'systemd/system', unit)).some((path) => {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    if (stats === undefined) return false
    // scriptify writes no link, and what one leads to may be outside of the root.
    if (stats.isSymbolicLink()) return true
    return !readFileSync(path, 'utf8').includes(ownershipMark(unit.split('.')[0] ?? '', SYSTEM))
  })

/** Whether the process of the service that this one hides still runs: systemd keeps it under the unit of that name. */
export async function runsNamesake(name: string): Promise<boolean> {
  if (!isForeignUnit(`${name}.service`)) return false
  const pid = (await propertiesOf(`${name}.service`, ['MainPID'])).get('MainPID') ?? '0'
  const commandLine = commandLineOf(pid)
  return commandLine !== '' && !commandLine.includes('{"task":"call"')
}

/** The command line of a process; empty for one that has ended. */
function commandLineOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT' || code === 'ESRCH') return ''
    throw error
  }
}

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
