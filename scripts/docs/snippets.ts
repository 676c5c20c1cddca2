import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A block of code on a page. What happens to it is written in a comment before it, which a page does not show, or for all
 * blocks of a page in `<!-- snippets: … -->`:
 *
 *     <!-- snippet: run -->                        pasted into a terminal by snippets.soak.test.ts
 *     <!-- snippet: run, and see X -->             and shows X
 *     <!-- snippet: run, then enter X, Y -->       and these lines are typed when the block waits for input
 *     <!-- snippet: run, and open -->              opens a session of scriptify, into which the next block is pasted:
 *     <!-- snippet: run in the terminal -->
 *     <!-- snippet: run with Docker -->            pasted by docker-snippets.soak.test.ts; what is above can follow
 *     <!-- snippet: run with systemd -->           pasted as root on a machine of services/scriptify/test/units/systemd.test.ts
 *     <!-- snippet: edit path/of.ts -->            lines of that file, which replace those that begin alike
 *     <!-- snippet: run by path/of.test.ts -->     that test runs it
 *     <!-- snippet: not run: why -->
 *
 * Where blocks are run, one after the words "Create `path/of.ts`" is written to this file.
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

/** Where a block is run: in a clone here, in one with Docker, or as root on a machine with systemd. */
export type Host = 'here' | 'Docker' | 'systemd'

export type Plan =
  | { kind: 'run'; on: Host; input: string[]; opens: boolean; shows: string }
  | { kind: 'run in the terminal'; on: Host }
  | { kind: 'write'; on: Host; path: string }
  | { kind: 'edit'; path: string }
  | { kind: 'run by'; test: string }
  | { kind: 'not run'; reason: string }

const FENCE = /^( *)```(\S*)[^\n]*\n([\s\S]*?)^ *```/gm
const MARK = /<!-- snippet: (.+?) -->\s*$/
/** Of the last paragraph before a block. */
const NEW_FILE = /\b[Cc]reate\s+`([^`]+)`/
const PAGE_MARK = /<!-- snippets: (.+?) -->/

/** The blocks of code on a page, in their order. Those without a language are diagrams and output, or new files. */
export function readSnippets(root: string, page: string): Snippet[] {
  const markdown = readFileSync(join(root, page), 'utf8')
  const [, pageMark] = PAGE_MARK.exec(markdown) ?? []
  return [...markdown.matchAll(FENCE)]
    .map(({ index, 1: indent = '', 2: language = '', 3: text = '' }) => {
      const before = markdown.slice(0, index)
      const mark = MARK.exec(before)?.[1] ?? pageMark
      return {
        page,
        line: before.split('\n').length,
        language,
        text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
        plan: mark === undefined ? undefined : planOf(mark, before),
      }
    })
    .filter(({ language, plan }) => language !== '' || plan?.kind === 'write')
}

function planOf(mark: string, before: string): Plan | undefined {
  const [, path] =
    NEW_FILE.exec(
      before
        .replace(MARK, '')
        .trimEnd()
        .split(/\n\s*\n/)
        .at(-1) ?? '',
    ) ?? []
  const plan = parsePlan(mark)
  return plan?.kind === 'run' && path && /^run(?: with systemd)?$/.test(mark)
    ? { kind: 'write', on: plan.on, path }
    : plan
}

function parsePlan(mark: string): Plan | undefined {
  const [, kind, host, detail = ''] =
    /^(run in the terminal|run by|run|edit|not run)(?: with (Docker|systemd))?(?:(?:: |, | )(.+))?$/.exec(
      mark,
    ) ?? []
  const on = host === 'Docker' || host === 'systemd' ? host : 'here'
  if (kind === 'run in the terminal') return { kind, on }
  if (kind === 'run') return parseRun(detail, on)
  if (!detail || on !== 'here') return undefined
  if (kind === 'edit') return { kind, path: detail }
  if (kind === 'run by') return { kind, test: detail }
  return kind === 'not run' ? { kind, reason: detail } : undefined
}

function parseRun(detail: string, on: Host): Plan | undefined {
  const [, verb, text = ''] = /^(and open|and see|then enter|)(?: (.+))?$/.exec(detail) ?? []
  if (verb === undefined) return undefined
  return {
    kind: 'run',
    on,
    opens: verb === 'and open',
    shows: verb === 'and see' ? text : '',
    input: verb === 'then enter' ? text.split(', ') : [],
  }
}

/** The text of a file with these lines: each replaces the one that is the same up to ` = `, or is put before all. */
export function editLines(file: string, lines: string): string {
  return lines
    .split('\n')
    .filter(Boolean)
    .reduce((text, line) => {
      const [start = ''] = line.split(/(?<= = )/)
      const at = text.indexOf(start)
      if (start === line || at === -1) return `${line}\n${text}`
      return text.slice(0, at) + line + text.slice(text.indexOf('\n', at))
    }, file)
}
