import { readFile } from 'node:fs/promises'
import type { Orders } from './orders.ts'

/** Tells whether the class may be used so from outside: TypeScript's `private` is gone when the code runs. */
export async function isDeclaredPublic(orders: Orders): Promise<boolean> {
  const source = await readFile(orders.module, 'utf8')
  // Most classes have no such method, and parsing costs more than looking.
  if (
    !new RegExp(
      `\\b(?:private|protected)\\b[^;(){}]*(?<![\\w$])${escapeDollars(orders.method)}\\s*[<(]`,
    ).test(source)
  ) {
    return true
  }
  const { findDeclaration } = await import('./signature.ts')
  const accessibility = findDeclaration(source, orders)?.accessibility
  return accessibility === undefined || accessibility === 'public'
}

const escapeDollars = (name: string): string => name.replaceAll('$', '\\$')
