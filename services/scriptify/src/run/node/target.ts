import { readFile } from 'node:fs/promises'
import { didYouMean } from '@latchkey/text/closest-name.ts'
import { type Callable, type CallableMember, isCallable, isClass } from '../../classes/node/callable.ts'
import { CliError, EXIT } from '../../io/cli-error.ts'
import type { CallerOptions } from '../method-call.ts'

/** The method or function that a reference names. */
export interface Target extends CallableMember {
  /** The class to construct for a method that is not static. */
  construct: Callable | undefined
  /** Returns the function to call; constructs the class if the method is not static. */
  bind(): (...args: unknown[]) => unknown
}

/** `Report::send`, or the name of a function. */
export const displayName = ({ className, method }: CallerOptions): string =>
  className === undefined ? method : `${className}::${method}`

/** Finds the target among the exports of its module; throws a CliError (3) if there is none. */
export async function findTarget(exports: Record<string, unknown>, options: CallerOptions): Promise<Target> {
  const { className, method, module = '' } = options
  return className === undefined
    ? findFunction(exports, module, method)
    : findMethod(findClass(exports, module, className), className, options)
}

/** Throws a CliError (2) for a target that could not be called with this many arguments; constructs nothing. */
export async function requireCallable(target: Target, options: CallerOptions): Promise<void> {
  if (target.construct && target.construct.length > 0) {
    throw new CliError(
      `${options.className} cannot be constructed without arguments: it requires ${target.construct.length}`,
      EXIT.usage,
    )
  }
  // The common case needs no look at the source.
  if (options.args.length !== target.callable.length) await requireArgumentCount(target, options)
}

/** True where `module.ts#Name` names a class, and so stands for its methods. */
export const namesClass = (
  exports: Record<string, unknown>,
  { className, method }: CallerOptions,
): boolean => {
  const exported = exports[method]
  return className === undefined && isCallable(exported) && isClass(exported)
}

/** The options for the class that `module.ts#Name` names. */
export const asClass = (options: CallerOptions): CallerOptions => ({
  ...options,
  className: options.className ?? options.method,
})

function findFunction(exports: Record<string, unknown>, module: string, name: string): Target {
  const callable = exports[name]
  if (!isCallable(callable)) {
    const hint = didYouMean(name, namesOf(exports, isCallable))
    throw new CliError(`${module} exports no function ${name}${hint}`, EXIT.notFound)
  }
  if (isClass(callable)) {
    throw new CliError(`${module}#${name} is a class; name its method, #${name}::method`, EXIT.usage)
  }
  return {
    name,
    callable,
    module,
    owner: undefined,
    construct: undefined,
    bind:
      () =>
      (...args) =>
        callable(...args),
  }
}

function findClass(exports: Record<string, unknown>, module: string, name: string): Callable {
  const byDefault = exports.default
  const found = exports[name] ?? (isCallable(byDefault) && byDefault.name === name ? byDefault : undefined)
  if (isCallable(found) && isClass(found)) return found
  const hint = didYouMean(
    name,
    namesOf(exports, (value) => isCallable(value) && isClass(value)),
  )
  throw new CliError(`${module} does not export a class ${name}${hint}`, EXIT.notFound)
}

const namesOf = (exports: Record<string, unknown>, matches: (value: unknown) => boolean): string[] =>
  Object.keys(exports).filter((name) => name !== 'default' && matches(exports[name]))

async function findMethod(
  Class: Callable,
  className: string,
  { method: name, module = '' }: CallerOptions,
): Promise<Target> {
  if (name === 'constructor' || name.startsWith('__') || name.startsWith('#')) {
    throw new CliError(`${className}::${name} cannot be called: it is not a public method`, EXIT.notFound)
  }
  const prototype = findHolder(Class.prototype, name, Object.prototype)
  const owner = prototype ? prototype.constructor : findHolder(Class, name, Function.prototype)
  const callable = owner && Reflect.get(prototype ? Class.prototype : Class, name)
  if (!isCallable(owner) || !isCallable(callable)) {
    const hint = didYouMean(name, namesOfClass(Class))
    throw new CliError(`The class ${className} has no method ${name}${hint}`, EXIT.notFound)
  }
  if (!(await isPublic(name, owner, module))) {
    throw new CliError(`The method ${className}::${name} is not public`, EXIT.notFound)
  }
  const construct = prototype ? Class : undefined
  return { name, callable, owner, module, construct, bind: () => bindMethod(Class, name, construct) }
}

/** The names of the methods of the class that the options name, also of those that are not public. */
export function namesOfMethods(
  exports: Record<string, unknown>,
  { module = '', className = '' }: CallerOptions,
): string[] {
  return namesOfClass(findClass(exports, module, className))
}

function namesOfClass(Class: Callable): string[] {
  const names = [...namesUpTo(Class.prototype, Object.prototype), ...namesUpTo(Class, Function.prototype)]
  return [...new Set(names)].filter((name) => name !== 'constructor')
}

/** The names of the functions in a prototype chain; runs no getter. */
function namesUpTo(object: unknown, end: object): string[] {
  if ((typeof object !== 'object' && typeof object !== 'function') || object === null || object === end)
    return []
  const own = Object.entries(Object.getOwnPropertyDescriptors(object))
    .filter(([, { value }]) => typeof value === 'function')
    .map(([name]) => name)
  return [...own, ...namesUpTo(Object.getPrototypeOf(object), end)]
}

function bindMethod(Class: Callable, name: string, construct: Callable | undefined) {
  const receiver = construct ? Reflect.construct(construct, []) : Class
  return (...args: unknown[]): unknown => receiver[name](...args)
}

/** Finds the object in the prototype chain that has the method, without what every object inherits; runs no getter. */
function findHolder(object: unknown, name: string, end: object): object | undefined {
  let holder = object
  while (typeof holder === 'object' || typeof holder === 'function') {
    if (holder === null || holder === end) return undefined
    const property = Object.getOwnPropertyDescriptor(holder, name)
    if (property) return typeof property.value === 'function' ? holder : undefined
    holder = Object.getPrototypeOf(holder)
  }
  return undefined
}

async function requireArgumentCount(target: Target, options: CallerOptions): Promise<void> {
  const { readSignature, formatParameters } = await import('../../classes/node/signature.ts')
  const signature = readSignature(target)
  const { parameters } = signature
  const count = options.args.length
  const least = parameters.filter(({ isOptional }) => !isOptional).length
  const isOpen = parameters.some(({ isRest }) => isRest)
  const most = isOpen ? Number.POSITIVE_INFINITY : parameters.length
  if (count >= least && count <= most) return
  const listed = parameters.length > 0 ? `: ${formatParameters(signature)}` : ''
  throw new CliError(
    `${displayName(options)} takes ${describeCount(least, most)}, not ${count}${listed}`,
    EXIT.usage,
  )
}

function describeCount(least: number, most: number): string {
  if (most === Number.POSITIVE_INFINITY) return `at least ${least} ${least === 1 ? 'argument' : 'arguments'}`
  if (least !== most) return `${least} to ${most} arguments`
  return `${least} ${least === 1 ? 'argument' : 'arguments'}`
}

/** True where a method may be called from outside its class: TypeScript's `private` is gone when the code runs. */
async function isPublic(method: string, owner: Callable, module: string): Promise<boolean> {
  if (await isEvidentlyPublic(method, owner, module)) return true
  const { findMethodDeclaration } = await import('../../classes/node/declaration.ts')
  const accessibility = findMethodDeclaration(method, { className: owner.name, module })?.accessibility
  return accessibility === undefined || accessibility === 'public'
}

/** Most classes are in the module itself and have no such modifier; parsing costs more than this search. */
async function isEvidentlyPublic(method: string, owner: Callable, module: string): Promise<boolean> {
  const source = await readFile(module, 'utf8')
  const name = method.replaceAll('$', '\\$')
  const modifier = new RegExp(`\\b(?:private|protected)\\b[^;{}]*(?<![\\w$])${name}(?![\\w$])`)
  return source.includes(`class ${owner.name} `) && !modifier.test(source)
}
