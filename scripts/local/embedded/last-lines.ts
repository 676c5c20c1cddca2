import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

const KEPT_LINES = 12

/** Keeps the last lines that PostgreSQL wrote, to quote them in an error. */
export function createLastLines() {
  const lines: string[] = []
  return {
    add: (line: string): void => {
      lines.push(line)
      if (lines.length > KEPT_LINES) lines.shift()
    },
    includes: (text: string): boolean => lines.some((line) => line.includes(text)),
    quote: (): string => (lines.length > 0 ? `\nPostgreSQL said:\n  ${lines.join('\n  ')}` : ''),
  }
}

/** Calls back for each line that is not empty. */
export function readLines(stream: Readable | null, onLine: (line: string) => void): void {
  if (!stream) return
  createInterface({ input: stream }).on('line', (line) => {
    if (line.trim()) onLine(line)
  })
}
