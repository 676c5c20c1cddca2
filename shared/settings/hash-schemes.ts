import { PASSWORD_SCHEMES } from '../passwords/schemes.ts'
import type { Fault } from './setting.ts'

export function findSchemeFault(names: readonly string[]): Fault | undefined {
  const known = Object.keys(PASSWORD_SCHEMES)
  if (names.every((name) => known.includes(name))) return undefined
  return { message: `must be some of ${known.join(', ')}, separated by commas` }
}
