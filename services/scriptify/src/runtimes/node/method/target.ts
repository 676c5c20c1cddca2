import { CliError } from '../../../cli-error.ts'
import { EXIT } from '../../../exit-codes.ts'
import { nameOf, type Orders } from './caller-options.ts'

// biome-ignore lint/complexity/noBannedTypes: what an export turns out to be is known by calling it only
export type Callable = Function

/** The method or function that is to be called. */
export interface Target {
  method: Callable
  /** The class that the method was declared in, which may be a base of the one named; none of a function. */
  owner: Callable | undefined
  /** Refuses what could not be called; constructs nothing. */
  demandCallable(count: number): Promise<void>
  /** Constructs the class, if the method is not static. */
  bind(): (...args: unknown[]) => unknown
}

/** Finds the target among the exports of its module; throws a CliError (3) where there is none. */
export async function findTarget(exports: Record<string, unknown>, orders: Orders): Promise<Target> {
  const { className, method } = orders
  return className === undefined
    ? findFunction(exports, orders, method)
    : findMethod(findClass(exports, orders, className), orders, className)
}

function findFunction(exports: Record<string, unknown>, orders: Orders, name: string): Target {
  const found = exports[name]
  if (typeof found !== 'function') {
    throw new CliError(`${orders.module} exports no function ${name}`, EXIT.notFound)
  }
  if (isClass(found)) {
    throw new CliError(`${orders.module}#${name} is a class: say which method, #${name}::method`, EXIT.usage)
  }
  return {
    method: found,
    owner: undefined,
    demandCallable: (count) => demandCount(orders, { method: found, owner: undefined }, count),
    bind:
      () =>
      (...args) =>
        found(...args),
  }
}

function findClass(exports: Record<string, unknown>, { module }: Orders, name: string): Callable {
  const byDefault = exports.default
  const found =
    exports[name] ?? (typeof byDefault === 'function' && byDefault.name === name ? byDefault : undefined)
  if (typeof found === 'function' && isClass(found)) return found
  throw new CliError(`There is no class ${name} among the exports of ${module}`, EXIT.notFound)
}

async function findMethod(Class: Callable, orders: Orders, className: string): Promise<Target> {
  const { method: name } = orders
  if (name === 'constructor' || name.startsWith('__') || name.startsWith('#')) {
    throw new CliError(`${className}::${name} cannot be called: it is no public method`, EXIT.notFound)
  }
  const prototype = findHolder(Class.prototype, name, Object.prototype)
  const isInstance = prototype !== undefined
  const owner = isInstance ? prototype.constructor : findHolder(Class, name, Function.prototype)
  const method = owner && Reflect.get(isInstance ? Class.prototype : Class, name)
  if (typeof owner !== 'function' || typeof method !== 'function') {
    throw new CliError(`The class ${className} has no method ${name}`, EXIT.notFound)
  }
  const { isDeclaredPublic } = await import('../declarations/visibility.ts')
  if (!(await isDeclaredPublic(orders, owner))) {
    throw new CliError(`The method ${className}::${name} is not public`, EXIT.notFound)
  }
  return {
    method,
    owner,
    demandCallable: async (count) => {
      if (isInstance && Class.length > 0) {
        throw new CliError(
          `${className} cannot be constructed without arguments: it wants ${Class.length}`,
          EXIT.usage,
        )
      }
      await demandCount(orders, { method, owner }, count)
    },
    bind: () => {
      const receiver = isInstance ? Reflect.construct(Class, []) : Class
      return (...args) => receiver[name](...args)
    },
  }
}

/** Finds what in the chain has the method, up to what every object has: toString() is nobody's method. No getter is run. */
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

const isClass = (value: Callable): boolean => /^class\b/.test(Function.prototype.toString.call(value))

async function demandCount(
  orders: Orders,
  target: Pick<Target, 'method' | 'owner'>,
  count: number,
): Promise<void> {
  // The usual case needs no look at the source.
  if (count === target.method.length) return
  const { readSignature, formatParameters } = await import('../declarations/signature.ts')
  const signature = await readSignature(orders, target)
  const least = signature.parameters.filter(({ isOptional }) => !isOptional).length
  const isOpen = orders.loose || signature.parameters.some(({ isRest }) => isRest)
  const most = isOpen ? Number.POSITIVE_INFINITY : signature.parameters.length
  if (count >= least && count <= most) return
  const takes = isOpen ? `at least ${least}` : least === most ? `${least}` : `${least} to ${most}`
  const noun = takes === '1' || takes === 'at least 1' ? 'argument' : 'arguments'
  const parameters = signature.parameters.length > 0 ? `: ${formatParameters(signature)}` : ''
  throw new CliError(`${nameOf(orders)} takes ${takes} ${noun}, not ${count}${parameters}`, EXIT.usage)
}
