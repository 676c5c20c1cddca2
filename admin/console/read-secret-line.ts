import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'

/**
 * Reads the first line of standard input. At a terminal it prints the question to standard error and does not echo
 * the input. Throws when the input ends before the first line.
 */
export async function readSecretLine(question: string): Promise<string> {
  const isTerminal = process.stdin.isTTY === true
  if (isTerminal) process.stderr.write(question)
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: silent, terminal: isTerminal })
  try {
    for await (const line of lines) return line
    throw new Error('Standard input is empty; write the password to it')
  } finally {
    lines.close()
    if (isTerminal) process.stderr.write('\n')
  }
}
