import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A block of code on a page. What happens to it is written in a comment before it, which a page does not show, or for all
 * blocks of a page in `<!-- snippets: … -->`:
 *
 *     <!-- snippet: run -->                        run by snippets.soak.test.ts
 *     <!-- snippet: run, and see X -->             and shows X
 *     <!-- snippet: run, then enter X -->          and reads X
 *     <!-- snippet: run, until Ctrl-C -->          and is interrupted
 *     <!-- snippet: run in the terminal -->        read by the command of the block before it
 *     <!-- snippet: run with Docker -->            run by docker-snippets.soak.test.ts; what is above can follow
 *     <!-- snippet: run with systemd -->           run as root on the machines of packages.soak.test.ts of scriptify
 *     <!-- snippet: run by path/of.test.ts -->     that test runs it
 *     <!-- snippet: not run: why -->
 *
 * Where blocks are run, one after the words "Create `path/of.ts`" or "Replace `path/of.ts`" is written to this file.
 */
export interface Snippet {
  page: string
  /** Line of the fence; the first is 1. */
  line: number
  /** The info string. */
  language: string
  text: string
  plan: Plan | undefined
}

/** The place where a block is run: a clone here, one with Docker, or as root a machine with systemd. */
export type Host = 'here' | 'Docker' | 'systemd'

export type Plan =
  | { kind: 'run'; on: Host; shows: string; input: string; isInterrupted: boolean }
  | { kind: 'run in the terminal'; on: Host }
  | { kind: 'write'; on: Host; path: string }
  | { kind: 'run by'; test: string }
  | { kind: 'not run'; reason: string }

const FENCE = /^( *)```(\S*)[^\n]*\n([\s\S]*?)^ *```/gm
const PLAN = /<!-- snippet: (.+?) -->\s*$/
const PLAN_OF_PAGE = /<!-- snippets: (.+?) -->/
/** The name of a file to write, in the last paragraph before a block. */
const WRITTEN_FILE = /\b(?:[Cc]reate|[Rr]eplace)\s+`([^`]+)`(?![\s\S]*\n\s*\n)/
const RUN =
  /^run(?<terminal> in the terminal)?(?: with (?<on>Docker|systemd))?(?:, and see (?<shows>.+)|, then enter (?<input>.+)|(?<isInterrupted>, until Ctrl-C))?$/

/** Returns the blocks of code on a page, in their order. Those without a language are diagrams and output, or new files. */
export function readSnippets(root: string, page: string): Snippet[] {
  const markdown = readFileSync(join(root, page), 'utf8')
  const [, planOfPage] = PLAN_OF_PAGE.exec(markdown) ?? []
  return [...markdown.matchAll(FENCE)]
    .map(({ index, 1: indent = '', 2: language = '', 3: text = '' }) => {
      const before = markdown.slice(0, index)
      const plan = PLAN.exec(before)?.[1] ?? planOfPage
      return {
        page,
        line: before.split('\n').length,
        language,
        text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
        plan: plan === undefined ? undefined : parsePlan(plan, before.replace(PLAN, '').trimEnd()),
      }
    })
    .filter(({ language, plan }) => language !== '' || plan?.kind === 'write')
}

function parsePlan(plan: string, before: string): Plan | undefined {
  const [, kind, detail = ''] = /^(run by |not run: )(.+)$/.exec(plan) ?? []
  if (kind === 'run by ') return { kind: 'run by', test: detail }
  if (kind === 'not run: ') return { kind: 'not run', reason: detail }
  const { groups } = RUN.exec(plan) ?? {}
  if (!groups) return undefined
  const on = groups.on === 'Docker' || groups.on === 'systemd' ? groups.on : 'here'
  const path = WRITTEN_FILE.exec(before)?.[1]
  if (path && /^run(?: with systemd)?$/.test(plan)) return { kind: 'write', on, path }
  if (groups.terminal) return { kind: 'run in the terminal', on }
  const { shows = '', input = '' } = groups
  return { kind: 'run', on, shows, input, isInterrupted: groups.isInterrupted !== undefined }
}
