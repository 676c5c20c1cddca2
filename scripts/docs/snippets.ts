import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A block of code on a page. What happens to it is written in a comment before it, which a page does not show, or for all
 * blocks of a page in `<!-- snippets: … -->`:
 *
 *     <!-- snippet: run -->                        pasted into a terminal by snippets.soak.test.ts
 *     <!-- snippet: run, then enter X, Y -->       and these lines are typed when the block waits for input
 *     <!-- snippet: run, and open -->              opens a session of scriptify, into which the next block is pasted:
 *     <!-- snippet: run in the terminal -->
 *     <!-- snippet: run by path/of.test.ts -->     that test runs it
 *     <!-- snippet: not run: why -->
 */
export interface Snippet {
  page: string
  /** Of the fence; the first is 1. */
  line: number
  /** The info string. */
  language: string
  text: string
  plan: Plan | undefined
}

export type Plan =
  | { kind: 'run'; input: string[]; opens: boolean }
  | { kind: 'run in the terminal' }
  | { kind: 'run by'; test: string }
  | { kind: 'not run'; reason: string }

const FENCE = /^( *)```(\S*)[^\n]*\n([\s\S]*?)^ *```/gm
const MARK = /<!-- snippet: (.+?) -->\s*$/
const PAGE_MARK = /<!-- snippets: (.+?) -->/

/** The blocks of code on a page, in their order. Blocks without a language are diagrams and output. */
export function readSnippets(root: string, page: string): Snippet[] {
  const markdown = readFileSync(join(root, page), 'utf8')
  const [, pageMark] = PAGE_MARK.exec(markdown) ?? []
  return [...markdown.matchAll(FENCE)]
    .filter(({ 2: language }) => language)
    .map(({ index, 1: indent = '', 2: language = '', 3: text = '' }) => {
      const before = markdown.slice(0, index)
      const mark = MARK.exec(before)?.[1] ?? pageMark
      return {
        page,
        line: before.split('\n').length,
        language,
        text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
        plan: mark === undefined ? undefined : parsePlan(mark),
      }
    })
}

function parsePlan(mark: string): Plan | undefined {
  if (mark === 'run') return { kind: 'run', input: [], opens: false }
  if (mark === 'run, and open') return { kind: 'run', input: [], opens: true }
  if (mark === 'run in the terminal') return { kind: 'run in the terminal' }
  const [, input] = /^run, then enter (.+)$/.exec(mark) ?? []
  if (input) return { kind: 'run', input: input.split(', '), opens: false }
  const [, test] = /^run by (\S+)$/.exec(mark) ?? []
  if (test) return { kind: 'run by', test }
  const [, reason] = /^not run: (.+)$/.exec(mark) ?? []
  return reason ? { kind: 'not run', reason } : undefined
}
