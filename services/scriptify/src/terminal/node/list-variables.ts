import { types } from 'node:util'
import { isCallable, isClass } from '../../classes/node/callable.ts'
import { plainProperty } from './plain-property.ts'

/** Returns the text that `.ls` prints: a line for each variable. */
export function listVariables(variables: Map<string, unknown>): string {
  return [...variables]
    .map(([name, value]) => `${name}  ${isPlainArray(value) ? `array(${value.length})` : typeName(value)}`)
    .join('\n')
}

const isPlainArray = (value: unknown): value is unknown[] => Array.isArray(value) && !types.isProxy(value)

function typeName(value: unknown): string {
  if (types.isProxy(value)) return 'Proxy'
  if (typeof value === 'object' && value !== null) {
    const name = plainProperty(plainProperty(value, 'constructor'), 'name')
    return typeof name === 'string' ? name : 'object'
  }
  return isCallable(value) && isClass(value) ? 'class' : typeof value
}
