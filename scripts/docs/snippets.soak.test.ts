import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findFreePort } from '@latchkey/test-support/free-port.ts'
import { createEmptyDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { afterAll, beforeAll, it } from 'vitest'
import { findPages } from './broken-references.ts'
import { type PublishedCheckout, publishCheckout, ROOT } from './checkout.ts'
import { runPage, scriptOf } from './page-script.ts'
import { readSnippets } from './snippets.ts'

/** The tutorial clones and installs. */
const FIRST = 'docs/tutorial/your-own-endpoint.md'
/** It changes the password of a demo user. */
const LAST = 'docs/how-to/use-the-account-pages.md'
/** Pages whose commands are for the time before the first start. */
const WITHOUT_START = ['docs/how-to/create-secrets.md', FIRST]
const rankOf = (page: string) => Number(page === LAST) - Number(page === FIRST)

const pages = findPages(ROOT)
  .map((page) => ({
    page,
    snippets: readSnippets(ROOT, page).filter(({ plan }) => plan && 'on' in plan && plan.on === 'here'),
  }))
  .filter(({ snippets }) => snippets.some(({ plan }) => plan?.kind === 'run'))
  .sort((a, b) => rankOf(a.page) - rankOf(b.page))

/**
 * Functions for the script of a page: `npm start` starts Latchkey in the background, in place of another start, and shows
 * what it prints; `newest_code` prints the code of the newest mail.
 */
const FUNCTIONS = `
stop() { [ -z "$started" ] || { kill "$started"; wait "$started" || true; started=; }; }
trap stop EXIT
npm() {
  [ "$1" = start ] || { command npm "$@"; return; }
  stop
  : > "$LOG"
  "$(type -P npm)" "$@" > "$LOG" 2>&1 &
  started=$!
  until grep -q 'Latchkey is ready' "$LOG"; do
    kill -0 "$started" 2>&- || { started=; break; }
    sleep 0.2
  done
  cat "$LOG"
  inbox=$(sed -nE 's|.*mail +http://([^/ ]+).*|\\1|p' "$LOG")
}
newest_code() {
  for try in {1..100}; do
    node -e 'fetch(process.argv[1]).then(r => r.json()).then(mails => console.log(/\\b(\\d{3}) ?(\\d{3})\\b/.exec(mails.at(-1).text).slice(1).join("")))' \\
      "http://$inbox/email" 2>&- && return
    sleep 0.2
  done
  return 1
}
`

let published: PublishedCheckout
/** An empty one, for the page on a database of the reader. */
let database: TestDatabase
let env: Record<string, string>

beforeAll(async () => {
  published = await publishCheckout()
  database = await createEmptyDatabase()
  const port = String(await findFreePort())
  env = {
    PATH: (process.env.PATH ?? '')
      .split(':')
      .filter((folder) => !folder.includes('node_modules'))
      .join(':'),
    HOME: process.env.HOME ?? '/tmp',
    NO_COLOR: '1',
    LOG: join(published.folder, 'start.log'),
    PORT: port,
    API_SERVER: `http://localhost:${port}`,
    METRICS_PORT: String(await findFreePort()),
  }
})
afterAll(async () => {
  await published?.[Symbol.asyncDispose]()
  await database?.[Symbol.asyncDispose]()
})

/** Replaces the same as a reader: addresses, the code of the newest mail. A second installation would repeat the first. */
const asPasted = (page: string) => (text: string) =>
  text
    .replaceAll('localhost:8080', `localhost:${env.PORT}`)
    .replaceAll('localhost:1080', '$inbox')
    .replaceAll('<address of your repository>', published.address)
    .replaceAll('postgres://latchkey:password@127.0.0.1:5432/latchkey', database.url)
    .replaceAll(/^CODE=\d{6}/gm, 'CODE=$(newest_code)')
    .replaceAll(/^npm ci$/gm, page === FIRST ? 'npm ci' : 'npm ci --dry-run')

it.each(pages)('$page does what it says', { timeout: 1_200_000 }, async ({ page, snippets }) => {
  const clone = join(published.folder, 'latchkey')
  // The first start has written it.
  if (page === 'docs/how-to/create-secrets.md') await rm(join(clone, 'config/staging/credentials.env'))
  const start = WITHOUT_START.includes(page) ? '' : 'npm start'
  const script = [FUNCTIONS, start, scriptOf(snippets, asPasted(page))].join('\n')
  const file = join(published.folder, 'page.sh')
  await writeFile(file, script)
  await runPage(['bash', file], snippets, { cwd: page === FIRST ? published.folder : clone, env })
})
