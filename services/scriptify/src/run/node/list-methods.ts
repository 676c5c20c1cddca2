import { readSignature } from '../../classes/node/signature.ts'
import type { CallerOptions } from '../method-call.ts'
import { findTarget, namesOfMethods } from './target.ts'

/** The methods of a class that can be called, each with the first line of its comment. */
export async function listMethods(exports: Record<string, unknown>, options: CallerOptions): Promise<string> {
  const listed: [reference: string, summary: string][] = []
  for (const method of namesOfMethods(exports, options)) {
    // A method that is not public throws.
    const target = await findTarget(exports, { ...options, method }).catch(() => undefined)
    const [summary = ''] = target === undefined ? [] : readSignature(target).comment.split('\n')
    if (target !== undefined) listed.push([`${options.text}::${method}`, summary])
  }
  const width = Math.max(0, ...listed.map(([reference]) => reference.length))
  const lines = listed.map(([reference, summary]) => `${reference.padEnd(width)}  ${summary}`.trimEnd())
  return `${lines.join('\n')}\n`
}
