import { execFileSync } from 'node:child_process'
import { type Area, codeOf } from './areas.ts'

/** Of an area; more would take longer than a few minutes. */
const MAX_LINES = 150

/** The tree without files, for a history that begins with the change. */
const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'

/**
 * The commit that changes are seen against: where the branch left main; on main, or without a main, the one before the
 * last that changed the code of `areas`. Commits to other code do not count: they would leave no mutant to test.
 */
export function previousCommit(areas: readonly Area[]): string {
  const base = git('branch', '--list', 'main') ? git('merge-base', 'HEAD', 'main') : undefined
  if (base !== undefined && base !== git('rev-parse', 'HEAD')) return base
  const files = areas.flatMap(codeOf)
  const change = git('log', '--first-parent', '--format=%H', '--max-count=1', '--', ...files)
  const [, before] = git('rev-list', '--first-parent', '--max-count=2', change).split('\n')
  return before ?? EMPTY_TREE
}

export interface ChangedLines {
  /** What Stryker mutates: `file:firstLine-lastLine`. */
  ranges: string[]
  /** Changed lines beyond the most that are tested. */
  leftOut: number
}

/** The lines of an area's code that have changed since a commit, uncommitted ones included. */
export function changedLines(area: Area, since: string, maxLines = MAX_LINES): ChangedLines {
  const hunks = codeOf(area).flatMap((file) => hunksOf(file, git('diff', '--unified=0', since, '--', file)))
  const ranges: string[] = []
  let remaining = maxLines
  let leftOut = 0
  for (const { file, first, count } of hunks) {
    const tested = Math.min(count, remaining)
    if (tested > 0) ranges.push(`${file}:${first}-${first + tested - 1}`)
    remaining -= tested
    leftOut += count - tested
  }
  return { ranges, leftOut }
}

interface Hunk {
  file: string
  first: number
  count: number
}

/** The new lines of a diff without context. */
export function hunksOf(file: string, diff: string): Hunk[] {
  const headers = diff.matchAll(/^@@ -\S+ \+(\d+)(?:,(\d+))? @@/gm)
  return [...headers]
    .map(([, first, count = '1']) => ({ file, first: Number(first), count: Number(count) }))
    .filter(({ count }) => count > 0)
}

const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim()
