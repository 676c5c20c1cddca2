import { printable } from '@latchkey/text/printable.ts'

/** Aligns rows under their headings, with two spaces between columns. */
export function formatTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, ...rows.map((row) => row.map(printable))]
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => width(line[column] ?? ''))))
  return lines
    .map((line) =>
      line
        .map((cell, column) => pad(cell, widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Aligns one `label  value` per line. */
export function formatFields(fields: readonly (readonly [label: string, value: string])[]): string {
  const widest = Math.max(...fields.map(([label]) => width(label)))
  return fields.map(([label, value]) => `${pad(label, widest)}  ${printable(value)}`.trimEnd()).join('\n')
}

const width = (text: string): number => [...text].length
const pad = (text: string, to: number): string => text + ' '.repeat(Math.max(0, to - width(text)))
