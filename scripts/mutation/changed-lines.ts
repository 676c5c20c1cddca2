import { execFileSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { type Area, matchesAny } from './areas.ts'

/** Of an area; more would take longer than a few minutes. */
const MAX_LINES = 150

/** The commit that changes are seen against: where the branch left main; on main, or without a main, ten commits ago. */
export function previousCommit(): string {
  const base = git('branch', '--list', 'main') ? git('merge-base', 'HEAD', 'main') : undefined
  if (base !== undefined && base !== git('rev-parse', 'HEAD')) return base
  return git('rev-list', '--first-parent', '--max-count=11', 'HEAD').split('\n').at(-1) ?? 'HEAD'
}

export interface ChangedLines {
  /** What Stryker mutates: `file:firstLine-lastLine`. */
  ranges: string[]
  /** Changed lines beyond the most that are tested. */
  leftOut: number
}

/** The lines of an area's code that have changed since a commit, uncommitted ones included. */
export function changedLines(area: Area, since: string, maxLines = MAX_LINES): ChangedLines {
  const files = globSync(area.mutate.filter((glob) => !glob.startsWith('!'))).filter(
    (file) => matchesAny(file, area.mutate) && !file.endsWith('.test.ts'),
  )
  const hunks = files.flatMap((file) => hunksOf(file, git('diff', '--unified=0', since, '--', file)))
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
