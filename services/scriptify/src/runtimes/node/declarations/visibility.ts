import { readFile } from 'node:fs/promises'
import type { Orders } from '../method/caller-options.ts'
import type { Callable } from '../method/target.ts'

/** Tells whether the class may be used so from outside: TypeScript's `private` is gone when the code runs. */
export async function isDeclaredPublic({ module, method }: Orders, owner: Callable): Promise<boolean> {
  const source = await readFile(module, 'utf8')
  // Most classes stand in the module itself and have no such method, and parsing costs more than looking.
  const isHere = source.includes(`class ${owner.name} `)
  const mayBeHidden = new RegExp(
    `\\b(?:private|protected)\\b[^;{}]*(?<![\\w$])${method.replaceAll('$', '\\$')}(?![\\w$])`,
  ).test(source)
  if (isHere && !mayBeHidden) return true
  const { findDeclaration } = await import('./signature.ts')
  const accessibility = (await findDeclaration(method, owner))?.accessibility
  return accessibility === undefined || accessibility === 'public'
}
