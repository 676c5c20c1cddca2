import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import type { Snippet } from './snippets.ts'

const INTERRUPTED_AFTER_SECONDS = 10

/**
 * A script of bash that does what the blocks of a page say, one after the other, and ends where a command fails. What
 * `pasted` changes is what a reader replaces, such as an address.
 */
export function scriptOf(snippets: readonly Snippet[], pasted: (text: string) => string = String): string {
  const blocks = snippets.map((snippet, index) => {
    const next = snippets[index + 1]
    const input = next?.plan?.kind === 'run in the terminal' ? next.text : undefined
    return `echo '${headingOf(snippet)}'\n${blockOf(snippet, pasted(snippet.text), input)}\n`
  })
  return ['set -e', 'exec 2>&1', ...blocks].join('\n')
}

function blockOf({ plan }: Snippet, text: string, terminalInput: string | undefined): string {
  if (plan?.kind === 'write')
    return `mkdir -p "$(dirname ${plan.path})"\ncat > ${plan.path} <<'END OF FILE'\n${text}END OF FILE`
  if (plan?.kind !== 'run') return ''
  if (plan.isInterrupted)
    return `timeout -s INT ${INTERRUPTED_AFTER_SECONDS} bash <<'END OF BLOCK' || [ $? = 124 ]\n${text}END OF BLOCK`
  if (terminalInput) return typeInTerminal(text, terminalInput)
  return plan.input ? `{\n${text}} <<'END OF INPUT'\n${plan.input}\nEND OF INPUT` : text
}

/** Types the input at a pseudo-terminal, as a reader does: what is piped into a terminal of scriptify is one script. */
const typeInTerminal = (command: string, input: string): string =>
  `block=$(cat <<'END OF BLOCK'\n${command}END OF BLOCK\n)\nTERM=dumb script --quiet --return --command "$block" /dev/null <<'END OF INPUT'\n${input}END OF INPUT`

/** Runs a script of `scriptOf`, and expects that each block shows what the page says. */
export async function runPage(
  [file, ...args]: readonly [string, ...string[]],
  snippets: readonly Snippet[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<void> {
  const running = promisify(execFile)(file, args, { ...options, maxBuffer: 2 ** 26 })
  running.child.stdin?.end()
  const { stdout } = await running.catch((error: { stdout: string }) => {
    throw new Error(`A command of the page fails:\n${error.stdout}`)
  })
  for (const [index, snippet] of snippets.entries()) {
    const [, shown = ''] = stdout.split(`${headingOf(snippet)}\n`)
    const next = snippets[index + 1]
    if (snippet.plan?.kind === 'run')
      expect(next ? shown.split(headingOf(next))[0] : shown).toContain(snippet.plan.shows)
  }
}

const headingOf = ({ page, line }: Snippet): string => `### ${page}:${line}`
