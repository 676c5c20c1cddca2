import { posix } from 'node:path'
import { expect } from 'vitest'
import { openPasteTerminal } from '../../../../scripts/docs/paste-terminal.ts'
import { readSnippets, type Snippet } from '../../../../scripts/docs/snippets.ts'
import { ROOT } from '../terminal-docker.ts'
import { type Machine, succeed } from './machine.ts'

export const TUTORIAL = 'docs/tutorial/your-first-service.md'

/** What a reader who has chosen the other language leaves out: its files, and its lines in the terminal. */
const OTHERS = { php: /(?:\.ts|package\.json|^ts)$/, ts: /(?:\.php|composer\.json|^php)$/ }

/** Does what the tutorial says, in one language, as root on a machine. */
export async function followTutorial(machine: Machine, language: 'php' | 'ts'): Promise<void> {
  const docker = ['docker', 'exec', '--interactive', '--tty', '--env', 'TERM=xterm', machine.getId()]
  await using terminal = await openPasteTerminal(ROOT, { PATH: process.env.PATH ?? '' }, docker)
  for (const { text, plan } of readSnippets(ROOT, TUTORIAL).filter((each) => isFor(language, each))) {
    if (plan?.kind === 'write') await writeTo(machine, plan.path, text)
    else if (plan?.kind === 'run in the terminal') {
      const last = text.trimEnd().split('\n').at(-1) ?? ''
      const shown = await terminal.paste(`${text}.exit\n`, /shell\$ $/)
      expect(shown.slice(shown.lastIndexOf(last))).toMatch(/^Hello Grace, it is [\d:]+$/m)
    } else if (plan?.kind === 'run' && plan.opens) await terminal.paste(text, /(?:node|php)> $/)
    else if (plan?.kind === 'run') expect(await terminal.run(text, plan.input)).toContain(plan.shows)
  }
}

const isFor = (language: 'php' | 'ts', snippet: Snippet): boolean =>
  !OTHERS[language].test(snippet.plan?.kind === 'write' ? snippet.plan.path : snippet.language)

async function writeTo(machine: Machine, path: string, text: string): Promise<void> {
  await succeed(machine, 'mkdir', '-p', posix.dirname(path))
  await succeed(machine, 'sh', '-c', 'printf %s "$2" > "$1"', 'sh', path, text)
}
