import { types } from 'node:util'
import { type Callable, isCallable, isClass } from '../../classes/node/callable.ts'
import {
  type Declaration,
  findClassDeclaration,
  findFunctionDeclaration,
} from '../../classes/node/declaration.ts'
import type { Evaluator } from './evaluator.ts'
import { plainProperty } from './plain-property.ts'
import { cannotBeShown, render } from './render.ts'

interface DescribeOptions {
  read: Evaluator['read']
  /** The source instead of the documentation. */
  source: boolean
  colors: boolean
}

/** What `.ls` prints: a line for each variable. */
export function listVariables(variables: Map<string, unknown>): string {
  return [...variables]
    .map(([name, value]) => `${name}  ${isPlainArray(value) ? `array(${value.length})` : typeName(value)}`)
    .join('\n')
}

/** What `.doc` and `.show` print: comment and signature, or source, of a function, class or method, or a value. */
export function describe(name: string, { read, source, colors }: DescribeOptions): string {
  const path = name.trim().replace(/\(.*$/, '')
  if (!/^[\w$]+(\.[\w$]+)*$/.test(path)) return `${name} is not a name`
  const value = read([path]).get(path)
  if (value === undefined) return `${path} is not defined`
  if (!isCallable(value)) return `${path}: ${typeName(value)}\n${render(value, { colors })}`
  try {
    return (source ? undefined : documentationOf(value)) ?? Function.prototype.toString.call(value)
  } catch (error) {
    // A static getter `name`, for example.
    return `${path}: ${cannotBeShown(error)}`
  }
}

/** Undefined for native code, which has no declaration. */
const documentationOf = (value: Callable): string | undefined =>
  isClass(value) ? classDocumentation(value) : functionDocumentation(value)

function functionDocumentation(value: Callable): string | undefined {
  const found = findFunctionDeclaration(value)
  return found && joinLines([found.comment, formatSignature(found)])
}

function classDocumentation(value: Callable): string | undefined {
  const found = findClassDeclaration(value)
  if (!found) return undefined
  const methods = found.members.filter(isPublicMethod).map((member) => `  ${formatSignature(member)}`)
  return joinLines([found.comment, `class ${value.name}`, ...methods])
}

const isPublicMethod = ({ parameters, accessibility }: Declaration): boolean =>
  parameters !== undefined && (accessibility === undefined || accessibility === 'public')

function formatSignature({ name, parameters = [], returns }: Declaration): string {
  const list = parameters.map(({ text }) => text).join(', ')
  return `${name}(${list})${returns === '' ? '' : `: ${returns}`}`
}

const joinLines = (lines: string[]): string => lines.filter((line) => line !== '').join('\n')

const isPlainArray = (value: unknown): value is unknown[] => Array.isArray(value) && !types.isProxy(value)

function typeName(value: unknown): string {
  if (types.isProxy(value)) return 'Proxy'
  if (typeof value === 'object' && value !== null) {
    const name = plainProperty(plainProperty(value, 'constructor'), 'name')
    return typeof name === 'string' ? name : 'object'
  }
  return isCallable(value) && isClass(value) ? 'class' : typeof value
}
