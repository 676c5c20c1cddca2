import { readdirSync } from 'node:fs'
import { dirname, resolve as resolvePath } from 'node:path'
import type { Evaluator } from './evaluator.ts'
import { plainOwners, plainProperty } from './plain-property.ts'

const MAX_CANDIDATES = 200
/** The path that an import begins. */
const IMPORTED_PATH = /(?:\bfrom|\bimport|\bimport\s*\(|\brequire\s*\()\s*["']((?:\.{0,2}\/)[^"']*)$/

interface Completions {
  /** The end of the line, which a candidate replaces. */
  word: string
  candidates: string[]
}

/** Finds the completions of a line by plain properties: nothing is called, and no getter of a member and no proxy runs. */
export function completionsOf(
  line: string,
  evaluator: Pick<Evaluator, 'lexicalNames' | 'read'>,
): Completions {
  const [, path] = IMPORTED_PATH.exec(line) ?? []
  if (path !== undefined) return filesAt(path)
  const [ending = '', name = ''] = /\??\.([A-Za-z_$][\w$]*)?$/.exec(line) ?? []
  if (ending !== '') {
    const subject = line.slice(0, -ending.length)
    return pick(name, membersOf(prototypeOfLiteral(subject) ?? resolve(subject, evaluator)))
  }
  const word = /[A-Za-z_$][\w$]*$/.exec(line)?.[0]
  if (word === undefined) return { word: '', candidates: [] }
  return pick(word, [...evaluator.lexicalNames(), ...Object.getOwnPropertyNames(globalThis)])
}

/** The files and folders that a path may go on with, as an import names them. */
function filesAt(path: string): Completions {
  const word = path.slice(path.lastIndexOf('/') + 1)
  try {
    const entries = readdirSync(resolvePath(dirname(`${path}x`)), { withFileTypes: true })
    const names = entries
      .filter((entry) => entry.isDirectory() || /\.(?:[cm]?[jt]s|json)$/.test(entry.name))
      .map((entry) => entry.name + (entry.isDirectory() ? '/' : ''))
    return { word, candidates: names.filter((name) => name.startsWith(word)).slice(0, MAX_CANDIDATES) }
  } catch {
    return { word, candidates: [] }
  }
}

function pick(word: string, names: string[]): Completions {
  const fitting = names.filter(
    (name) => name.startsWith(word) && /^[\w$]+$/.test(name) && (!name.startsWith('__') || /^__/.test(word)),
  )
  return { word, candidates: [...new Set(fitting)].toSorted().slice(0, MAX_CANDIDATES) }
}

/** The prototype of the literal that ends the text: its members are completed. */
function prototypeOfLiteral(text: string): object | undefined {
  if (/(["'`])(?:(?!\1)[^\\]|\\.)*\1$/.test(text)) return String.prototype
  if (/(?:^|[=(,:?&|[{;]|\breturn)\s*\/(?![*/])(?:[^\\/]|\\.)+\/[a-z]*$/.test(text)) return RegExp.prototype
  return text.endsWith(']') && !/[\w$)\]'"`]\s*$/.test(beforeBracket(text)) ? Array.prototype : undefined
}

/** The text before the bracket that the last one closes. */
function beforeBracket(text: string): string {
  let depth = 0
  for (let index = text.length - 1; index >= 0; index--) {
    depth += text[index] === ']' ? 1 : text[index] === '[' ? -1 : 0
    if (depth === 0) return text.slice(0, index)
  }
  return text
}

/** The value of the variable or of the member that ends the text. */
function resolve(text: string, { read }: Pick<Evaluator, 'read'>): unknown {
  const [path = ''] = /[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)*$/.exec(text) ?? []
  const [root = '', ...steps] = path.split(/\??\./)
  return root === '' ? undefined : steps.reduce<unknown>(plainProperty, read([root]).get(root))
}

/** The names of the members; an object may have a million keys. */
const membersOf = (value: unknown): string[] =>
  [...plainOwners(value)].flatMap((owner) => Object.getOwnPropertyNames(owner).slice(0, 1000))
