import type { Evaluator } from './evaluator.ts'
import { plainOwners, plainProperty } from './plain-property.ts'

const MAX_CANDIDATES = 200

/** Finds the completions of a line by plain properties: no getter and no proxy runs, and nothing is called. */
export function completionsOf(
  line: string,
  evaluator: Pick<Evaluator, 'lexicalNames' | 'read'>,
): { word: string; candidates: string[] } {
  const member = /([A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)*)\??\.([A-Za-z_$][\w$]*)?$/.exec(line)
  if (member) return pick(member[2] ?? '', membersOf(resolve(member[1] ?? '', evaluator)))
  const word = /[A-Za-z_$][\w$]*$/.exec(line)?.[0]
  if (word === undefined) return { word: '', candidates: [] }
  return pick(word, [...evaluator.lexicalNames(), ...Object.getOwnPropertyNames(globalThis)])
}

function pick(word: string, names: string[]): { word: string; candidates: string[] } {
  const fitting = names.filter(
    (name) => name.startsWith(word) && !name.startsWith('__scriptify') && /^[\w$]+$/.test(name),
  )
  return { word, candidates: [...new Set(fitting)].toSorted().slice(0, MAX_CANDIDATES) }
}

function resolve(path: string, { read }: Pick<Evaluator, 'read'>): unknown {
  const [root = '', ...steps] = path.split(/\??\./)
  return steps.reduce<unknown>(plainProperty, read([root]).get(root))
}

function membersOf(value: unknown): string[] {
  // An object may have a million keys.
  return [...plainOwners(value)].flatMap((owner) => Object.getOwnPropertyNames(owner).slice(0, 1000))
}
