import type { Candidates } from './complete-line.ts'
import { quoteFor, splitLine } from './shell-words.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

/** What the shell's script reads: `:files`, or a line for each candidate; for zsh and fish with its description. */
export function formatReply(
  shell: Shell,
  candidates: Candidates,
  { line, breaks }: { line: string; breaks: string },
): string {
  if (candidates === undefined) return ':files\n'
  const lines = candidates.map(({ value, description }) =>
    shell === 'bash' ? replaceWord(value, { line, breaks }) : `${value}\t${firstLine(description)}`,
  )
  return lines.map((text) => `${text}\n`).join('')
}

/** bash replaces only what follows the last of its word breaks, such as `::`, unless the word is in quotes. */
function replaceWord(value: string, { line, breaks }: { line: string; breaks: string }): string {
  const current = splitLine(line).at(-1)
  if (current === undefined) return value
  const quoted = quoteFor(value, current)
  if (current.openQuote !== '') return quoted
  const isBreak = (character: string) => ':='.includes(character) && breaks.includes(character)
  let typed = [...current.raw].filter(isBreak).length
  let start = 0
  while (typed > 0 && start < quoted.length) if (isBreak(quoted.charAt(start++))) typed -= 1
  return quoted.slice(start)
}

const firstLine = (text: string): string => (text.split('\n')[0] ?? '').replaceAll('\t', ' ')
