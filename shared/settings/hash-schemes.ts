import { SCHEME_NAMES } from '../passwords/scheme-names.ts'
import type { Fault } from './setting.ts'

export function findSchemeFault(names: readonly string[]): Fault | undefined {
  const known: readonly string[] = SCHEME_NAMES
  if (names.every((name) => known.includes(name))) return undefined
  return { message: `must be some of ${known.join(', ')}, separated by commas` }
}
