import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findFreePort } from '@latchkey/test-support/free-port.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { findPages } from './broken-references.ts'
import { commitAll, type PublishedCheckout, publishCheckout, ROOT } from './checkout.ts'
import { runPage, scriptOf } from './page-script.ts'
import { readSnippets } from './snippets.ts'

/** The first starts the services, the last replaces them by another version. */
const PAGES = [
  'docs/how-to/run-on-one-host.md',
  'docs/how-to/debug-missing-mail.md',
  'docs/how-to/scale.md',
  'docs/how-to/import-users.md',
  'docs/how-to/run-scriptify-in-a-container.md',
  'docs/how-to/move-to-a-cluster.md',
  'docs/how-to/upgrade.md',
]
const usesDocker = (page: string): boolean =>
  readSnippets(ROOT, page).some(({ plan }) => plan?.kind === 'run' && plan.on === 'Docker')
const NAME = `latchkey-docs-${randomUUID().slice(0, 8)}`
const IMAGES = ['auth-api', 'mailer-worker', 'scriptify'].map((service) => `latchkey/${service}:${NAME}`)
const run = promisify(execFile)

let published: PublishedCheckout
let clone: string
let env: Record<string, string>

beforeAll(async () => {
  published = await publishCheckout()
  clone = join(published.folder, 'latchkey')
  await run('git', ['clone', '-q', published.address, clone])
  env = {
    PATH: process.env.PATH ?? '',
    HOME: process.env.HOME ?? '/tmp',
    AUTH_API_PORT: `127.0.0.1:${await findFreePort()}`,
    MAILDEV_PORT: `127.0.0.1:${await findFreePort()}`,
    COMPOSE_PROJECT_NAME: NAME,
    LATCHKEY_VERSION: NAME,
  }
  // The pages go on with the files of these two.
  for (const page of ['docs/how-to/import-users.md', 'docs/how-to/run-a-method.md']) {
    const files = readSnippets(ROOT, page).filter(({ plan }) => plan?.kind === 'write')
    await runPage(['bash', '-c', scriptOf(files)], files, { cwd: clone, env })
  }
})
afterAll(async () => {
  const remove = () =>
    run('docker', ['compose', '-p', NAME, 'down', '--volumes', '--remove-orphans', '--timeout', '5'], {
      cwd: published.folder,
    })
  // A container of `run --rm` may remove itself at the same time, which fails the first.
  await remove().catch(remove)
  await run('docker', ['volume', 'rm', '--force', `${NAME}-state`])
  await run('docker', ['image', 'rm', '--force', ...IMAGES])
  await published[Symbol.asyncDispose]()
})

/** Replaces names and addresses by those of this installation, which is beside others on the machine. */
const asPasted = (text: string): string =>
  text
    .replaceAll(/(?:localhost|127\.0\.0\.1):8080/g, env.AUTH_API_PORT ?? '')
    .replaceAll('localhost:1080', env.MAILDEV_PORT ?? '')
    .replaceAll(/(latchkey\/[\w-]+):1\.0\.0/g, `$1:${NAME}`)
    // There is no terminal.
    .replaceAll(' -it ', ' -i ')
    .replaceAll('scriptify-state:', `${NAME}-state:`)
    .replaceAll(/(--name|stop -t 60|docker rm) reports/g, `$1 ${NAME}-reports`)
    .replaceAll('<commit>', 'HEAD~1')

/** The next version, which `git pull` fetches. */
async function publishNextVersion(): Promise<void> {
  await appendFile(join(published.address, 'services/auth-api/src/main.ts'), '\n// The next version.\n')
  await commitAll(published.address, 'the next version')
}

const isAvailable = async (): Promise<boolean> =>
  (await fetch(`http://${env.AUTH_API_PORT}/health/ready`).catch(() => undefined))?.status === 200

it('follows every page that uses Docker', () => {
  expect(findPages(ROOT).filter(usesDocker).sort()).toEqual([...PAGES].sort())
})

it.each(PAGES)('%s does what it says', async (page) => {
  if (page.endsWith('upgrade.md')) await publishNextVersion()
  const snippets = readSnippets(ROOT, page).filter(({ plan }) => plan?.kind === 'run' && plan.on === 'Docker')
  await runPage(['bash', '-c', scriptOf(snippets, asPasted)], snippets, { cwd: clone, env })
  expect(await isAvailable()).toBe(true)
})

it('runs the PHP of docs/how-to/use-the-terminal.md', async () => {
  const php = readSnippets(ROOT, 'docs/how-to/use-the-terminal.md').find(({ language }) => language === 'php')
  const terminal = run(
    'docker',
    ['compose', 'run', '--rm', '-T', 'scriptify', 'terminal', '--runtime', 'php'],
    { cwd: join(clone, 'deploy'), env },
  )
  terminal.child.stdin?.end(php?.text)
  expect((await terminal).stdout).toContain('admin@example.com')
})
