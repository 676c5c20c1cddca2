import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'

/**
 * The first line of standard input without its line end. At a terminal it asks for it on standard error and does
 * not show what is typed. Throws when the input ends before there is a line.
 */
export async function readSecretLine(question: string): Promise<string> {
  const isTerminal = process.stdin.isTTY === true
  if (isTerminal) process.stderr.write(question)
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: silent, terminal: isTerminal })
  try {
    for await (const line of lines) return line
    throw new Error('The password was to come from standard input, which is empty')
  } finally {
    lines.close()
    if (isTerminal) process.stderr.write('\n')
  }
}
