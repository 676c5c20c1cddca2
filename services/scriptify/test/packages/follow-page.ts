import { runPage, scriptOf } from '../../../../scripts/docs/page-script.ts'
import { readSnippets, type Snippet } from '../../../../scripts/docs/snippets.ts'
import type { Machine } from '../services/machine.ts'
import { ROOT } from '../terminal-docker.ts'

export type Language = 'php' | 'ts'

/** The snippets that a reader of the other language leaves out: its files, its lines in the terminal, and its commands. */
const OTHERS = { php: /^ts$|\.ts$|package\.json$/, ts: /^php$|\.php$|composer\.json$/ }
const COMMANDS_OF_OTHERS = { php: /\.ts#/, ts: /\.php\b/ }

/** Does what a page says for a machine with systemd, in one language, as root in an empty folder. */
export async function followPage(machine: Machine, page: string, language: Language): Promise<void> {
  const snippets = readSnippets(ROOT, page).filter(
    (each) => each.plan && 'on' in each.plan && each.plan.on === 'systemd' && isFor(language, each),
  )
  const folder = `/srv/${language}`
  const script = `mkdir -p ${folder}; cd ${folder}\n${scriptOf(snippets)}`
  await runPage(['docker', 'exec', machine.getId(), 'bash', '-c', script], snippets)
}

const isFor = (language: Language, { plan, language: written, text }: Snippet): boolean =>
  !OTHERS[language].test(plan?.kind === 'write' ? plan.path : written) &&
  (plan?.kind === 'write' || !COMMANDS_OF_OTHERS[language].test(text))
