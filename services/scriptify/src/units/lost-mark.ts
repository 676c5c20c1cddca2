import { CliError } from '../cli/cli-error.ts'
import { EXIT } from '../cli/exit-codes.ts'
import type { InitSystem } from './init-system.ts'
import type { FoundFile, FoundService } from './inspect-service.ts'
import { ownershipMark, readMark } from './ownership.ts'

/** The files of a service besides its unit. An admin may have written a timer or a rotation for it: those are not. */
export const partsOf = ({ environment, launcher, extras }: FoundService): FoundFile[] => [
  ...[environment, launcher].filter((file) => file !== undefined),
  ...extras.filter(({ owner }) => owner === 'own'),
]

/** The init system that the marks in the other files name, where the unit has none. */
export function findMarkedSystem(found: FoundService, systems: readonly InitSystem[]): InitSystem[] {
  const marks = partsOf(found).map(({ text }) => readMark(text, systems))
  return marks.flatMap((mark) => (mark?.kind === 'own' ? [mark.system] : [])).slice(0, 1)
}

/**
 * Throws exit code 4 for a unit that was scriptify's, until its mark was removed by hand. It still uses the other files:
 * without them its service would not start again.
 */
export function refuseLostMark(name: string, found: FoundService, systems: readonly InitSystem[]): void {
  if (found.units.some(({ owner }) => owner !== 'foreign')) return
  const [system] = findMarkedSystem(found, systems)
  const unit = found.units.find((unit) => unit.system === system)
  if (unit === undefined) return
  throw new CliError(
    `${unit.path} has lost its line "${ownershipMark(name, unit.system)}": put it back among the first three, or remove the file`,
    EXIT.notPermitted,
  )
}
