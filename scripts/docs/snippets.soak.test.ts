import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { findFreePort } from '../../services/test/support/free-port.ts'
import { createEmptyDatabase, type TestDatabase } from '../../services/test/support/test-database.ts'
import { findPages } from './broken-references.ts'
import { ROOT } from './generated-pages.ts'
import { openPasteTerminal, type PasteTerminal, SHELL_PROMPT } from './paste-terminal.ts'
import { type PublishedCheckout, publishCheckout } from './published-checkout.ts'
import { editLines, type Plan, readSnippets, type Snippet } from './snippets.ts'

const Mails = z.array(z.object({ text: z.string() }))
type RunPlan = Extract<Plan, { kind: 'run' }>

const isFollowed = ({ plan }: Snippet): boolean =>
  plan?.kind === 'edit' || (plan !== undefined && 'on' in plan && plan.on === 'here')
/** The tutorial clones, installs and starts. */
const FIRST = ['docs/tutorial/your-own-endpoint.md', 'docs/how-to/create-secrets.md']
/** These change the password of a demo user, code of Latchkey, or take a migration back. */
const LAST = [
  'README.md',
  'docs/how-to/build-the-reset-pages.md',
  'docs/how-to/add-an-init-system.md',
  'docs/how-to/add-a-table.md',
]
const rankOf = (page: string) =>
  FIRST.includes(page) ? FIRST.indexOf(page) - FIRST.length : 1 + LAST.indexOf(page)

const pages = findPages(ROOT)
  .map((page) => ({
    page,
    snippets: readSnippets(ROOT, page).filter(isFollowed),
  }))
  .filter(({ snippets }) => snippets.some(({ plan }) => plan?.kind === 'run'))
  .sort((a, b) => rankOf(a.page) - rankOf(b.page))

let published: PublishedCheckout
/** An empty one, for the page on a database of the reader. */
let database: TestDatabase
let clone: string
let env: Record<string, string>
/** The terminal in which `npm start` runs, as the pages say; undefined before the first. */
let first: PasteTerminal | undefined
let isStarted = false
let inbox = ''

beforeAll(async () => {
  published = await publishCheckout()
  database = await createEmptyDatabase()
  clone = join(published.folder, 'latchkey')
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
})
afterAll(async () => {
  await stop()
  await first?.[Symbol.asyncDispose]()
  await published?.[Symbol.asyncDispose]()
  await database?.[Symbol.asyncDispose]()
})

async function stop(): Promise<void> {
  if (isStarted) await first?.interrupt()
  isStarted = false
}

/** Starts Latchkey as the line says. */
async function start(line: string, shows: string): Promise<void> {
  first ??= await openPasteTerminal(clone, env)
  const output = await first.paste(
    `${line}\n`,
    /Latchkey is ready[\s\S]*Ctrl-C|(?:Stopped\.|cannot be used)[\s\S]*shell\$ $/,
  )
  expect(output).toContain(shows || 'Latchkey is ready')
  isStarted = output.includes('Latchkey is ready')
  inbox = /mail +http:\/\/([\w.]+:\d+)/.exec(output)?.[1] ?? inbox
}

/** Runs a block line by line up to each `npm start`, and the rest in a second terminal. */
async function runCommands(second: PasteTerminal, text: string, { input, shows }: RunPlan): Promise<void> {
  const lines = text.split('\n')
  const index = lines.findIndex((line) => /^(?:\w+=\S+ )*npm start\b/.test(line))
  if (index === -1) {
    expect(await second.run(text, input)).toContain(shows)
    return
  }
  await stop()
  if (index > 0) await second.run(`${lines.slice(0, index).join('\n')}\n`)
  await start(lines[index] ?? '', shows)
  const rest = lines.slice(index + 1).join('\n')
  if (rest) await second.run(rest, input)
}

/** What a reader replaces: addresses, the code of the newest mail. A second installation would only repeat the first. */
async function asTyped(written: string): Promise<string> {
  const text = written
    .replaceAll('localhost:8080', `localhost:${env.PORT}`)
    .replaceAll('localhost:1080', inbox)
    .replaceAll('<address of your repository>', published.address)
    .replaceAll('postgres://latchkey:password@127.0.0.1:5432/latchkey', database.url)
    .replaceAll(/^npm ci$/gm, existsSync(join(clone, 'node_modules')) ? 'npm ci --dry-run' : 'npm ci')
  return /^CODE=/m.test(text) ? text.replaceAll(/^CODE=\d{6}/gm, `CODE=${await findCode()}`) : text
}

/** The code of the mail that comes. */
async function findCode(): Promise<string> {
  let code: string | undefined
  const look = async () => {
    const mails = Mails.parse(await (await fetch(`http://${inbox}/email`)).json())
    const found = mails.map(({ text }) => /\b(\d{3}) ?(\d{3})\b/.exec(text)).find((match) => match)
    code = found ? `${found[1]}${found[2]}` : undefined
    return code
  }
  await expect.poll(look).toBeDefined()
  return code ?? ''
}

async function createFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(clone, path)), { recursive: true })
  await writeFile(join(clone, path), text)
}

it.each(pages)('$page does what it says', { timeout: 1_200_000 }, async ({ page, snippets }) => {
  // The page before may have ended with a start that is refused.
  if (inbox && !isStarted) await start('npm start', '')
  // Its commands are for the time before the first start, which writes this file.
  if (page === 'docs/how-to/create-secrets.md') await rm(join(clone, 'config/staging/credentials.env'))
  const folder = existsSync(clone) ? clone : published.folder
  if (inbox) await fetch(`http://${inbox}/email/all`, { method: 'DELETE' })
  await using second = await openPasteTerminal(folder, env)
  for (const { text: written, plan } of snippets) {
    const text = await asTyped(written)
    if (plan?.kind === 'write') await createFile(plan.path, text)
    else if (plan?.kind === 'edit')
      await createFile(plan.path, editLines(await readFile(join(clone, plan.path), 'utf8'), text))
    else if (plan?.kind === 'run' && plan.opens) await second.paste(text, /(?:node|php)> $/)
    else if (plan?.kind === 'run') await runCommands(second, text, plan)
    else {
      const shown = await second.paste(text, /(?:node|php)> $/)
      expect(shown).not.toMatch(/Error|does not exist|failed/)
      await second.paste('.exit\n', SHELL_PROMPT)
    }
  }
})
