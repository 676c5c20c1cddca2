import { readFile } from 'node:fs/promises'

// biome-ignore lint/complexity/noBannedTypes: what an export turns out to be is only known by calling it
export type Callable = Function

/** A method, or a function, by the name that it is called by. */
export interface CallableMember {
  name: string
  callable: Callable
  /** The class that declares the method, perhaps a base of the named one; undefined for a function. */
  owner: Callable | undefined
}

export const isCallable = (value: unknown): value is Callable => typeof value === 'function'

export const isClass = (value: Callable): boolean => /^class\b/.test(Function.prototype.toString.call(value))

/** Tells whether a method may be called from outside its class: TypeScript's `private` is gone when the code runs. */
export async function isPublic(method: string, owner: Callable, module: string): Promise<boolean> {
  if (await isEvidentlyPublic(method, owner, module)) return true
  const { findMethodDeclaration } = await import('./declaration.ts')
  const accessibility = findMethodDeclaration(method, owner)?.accessibility
  return accessibility === undefined || accessibility === 'public'
}

/** Most classes are in the module itself and have no such modifier; parsing costs more than this search. */
async function isEvidentlyPublic(method: string, owner: Callable, module: string): Promise<boolean> {
  const source = await readFile(module, 'utf8')
  const name = method.replaceAll('$', '\\$')
  const modifier = new RegExp(`\\b(?:private|protected)\\b[^;{}]*(?<![\\w$])${name}(?![\\w$])`)
  return source.includes(`class ${owner.name} `) && !modifier.test(source)
}
