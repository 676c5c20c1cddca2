// biome-ignore lint/complexity/noBannedTypes: what an export turns out to be is only known by calling it
export type Callable = Function

/** A method, or a function, by the name that it is called by. */
export interface CallableMember {
  name: string
  callable: Callable
  /** The class that declares the method, perhaps a base of the named one; undefined for a function. */
  owner: Callable | undefined
  /** The path of the module that exports the class or the function. */
  module: string
}

export const isCallable = (value: unknown): value is Callable => typeof value === 'function'

export const isClass = (value: Callable): boolean => /^class\b/.test(Function.prototype.toString.call(value))
