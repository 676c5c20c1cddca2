import { execFile } from 'node:child_process'
import { cp, mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { findFreePort } from '../../services/mailer-worker/test/support/free-port.ts'
import { findPages } from './broken-references.ts'
import { ROOT } from './generated-pages.ts'
import { openPasteTerminal, type PasteTerminal, SHELL_PROMPT } from './paste-terminal.ts'
import { readSnippets, type Snippet } from './snippets.ts'

const isRun = ({ plan }: Snippet) => plan?.kind === 'run' || plan?.kind === 'run in the terminal'
/** The README installs and starts; a page that takes a migration back comes last. */
const ORDER = ['README.md', 'docs/how-to/create-secrets.md']
const LAST = 'docs/how-to/add-a-table.md'
const rankOf = (page: string) => (page === LAST ? 1 : ORDER.includes(page) ? ORDER.indexOf(page) - 9 : 0)

const pages = findPages(ROOT)
  .map((page) => ({ page, snippets: readSnippets(ROOT, page).filter(isRun) }))
  .filter(({ snippets }) => snippets.length > 0)
  .sort((a, b) => rankOf(a.page) - rankOf(b.page))

let copy: Awaited<ReturnType<typeof mkdtempDisposable>>
let env: Record<string, string>
/** The terminal in which `npm start` runs, as the pages say. */
let first: PasteTerminal
let isStarted = false

beforeAll(async () => {
  copy = await mkdtempDisposable(join(tmpdir(), 'latchkey-snippets-'))
  const list = ['ls-files', '--cached', '--others', '--exclude-standard']
  const { stdout } = await promisify(execFile)('git', list, { cwd: ROOT })
  for (const file of stdout.split('\n').filter(Boolean))
    await cp(join(ROOT, file), join(copy.path, file)).catch(() => undefined)
  env = {
    PATH: (process.env.PATH ?? '')
      .split(':')
      .filter((folder) => !folder.includes('node_modules'))
      .join(':'),
    HOME: process.env.HOME ?? '/tmp',
    TERM: 'xterm',
    PORT: String(await findFreePort()),
    METRICS_PORT: String(await findFreePort()),
  }
  first = await openPasteTerminal(copy.path, env)
})
afterAll(async () => {
  if (isStarted) await first.interrupt()
  await first?.[Symbol.asyncDispose]()
  await copy.remove()
})

/** Starts Latchkey as the line says, after stopping the one that runs. */
async function start(line: string): Promise<void> {
  if (isStarted) await first.interrupt()
  const output = await first.paste(`${line}\n`, /Latchkey is ready|Stopped\.|cannot be used/)
  isStarted = true
  expect(output).toContain('Latchkey is ready')
}

/** Runs a block line by line up to each `npm start`, and the rest in a second terminal. */
async function runCommands(second: PasteTerminal, text: string, input: readonly string[]): Promise<void> {
  const lines = text.split('\n')
  const index = lines.findIndex((line) => /^(?:\w+=\S+ )*npm start\b/.test(line))
  if (index === -1) return void (await second.run(text, input))
  if (index > 0) await second.run(`${lines.slice(0, index).join('\n')}\n`)
  await start(lines[index] ?? '')
  const rest = lines.slice(index + 1).join('\n')
  if (rest) await second.run(rest, input)
}

it.each(pages)('$page does what it says', async ({ snippets }) => {
  await using second = await openPasteTerminal(copy.path, env)
  for (const { text: written, plan } of snippets) {
    const text = written.replaceAll('localhost:8080', `localhost:${env.PORT}`)
    if (plan?.kind === 'run' && plan.opens) await second.paste(text, /(?:node|php)> $/)
    else if (plan?.kind === 'run') await runCommands(second, text, plan.input)
    else {
      const shown = await second.paste(text, /(?:node|php)> $/)
      expect(shown).not.toMatch(/Error|does not exist|failed/)
      await second.paste('.exit\n', SHELL_PROMPT)
    }
  }
})
