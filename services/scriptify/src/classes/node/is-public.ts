import { readFile } from 'node:fs/promises'
import type { Callable } from './callable.ts'

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
