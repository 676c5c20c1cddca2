import { runPage, scriptOf } from '../../../../scripts/docs/page-script.ts'
import { readSnippets, type Snippet } from '../../../../scripts/docs/snippets.ts'
import { ROOT } from '../terminal-docker.ts'
import type { Machine } from './machine.ts'

export const TUTORIAL = 'docs/tutorial/your-first-service.md'

/** What a reader who has chosen the other language leaves out: its files, and its lines in the terminal. */
const OTHERS = { php: /(?:\.ts|package\.json|^ts)$/, ts: /(?:\.php|composer\.json|^php)$/ }

/** Does what the tutorial says, in one language, as root on a machine. */
export async function followTutorial(machine: Machine, language: 'php' | 'ts'): Promise<void> {
  const snippets = readSnippets(ROOT, TUTORIAL).filter((each) => isFor(language, each))
  await runPage(['docker', 'exec', machine.getId(), 'bash', '-c', scriptOf(snippets)], snippets)
}

const isFor = (language: 'php' | 'ts', snippet: Snippet): boolean =>
  !OTHERS[language].test(snippet.plan?.kind === 'write' ? snippet.plan.path : snippet.language)
