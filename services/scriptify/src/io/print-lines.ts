import type { Writable } from 'node:stream'
import { printableLines } from '@latchkey/text/printable.ts'

/** Writes each text and the end of its line, as a terminal may show it: names, paths and comments are those of others. */
export async function printLines(
  output: Writable,
  texts: AsyncIterable<string> | Iterable<string>,
): Promise<void> {
  for await (const text of texts) output.write(`${printableLines(text)}\n`)
}
