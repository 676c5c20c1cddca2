import { once } from 'node:events'
import { mkdir, mkdtemp, mkdtempDisposable, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { readSnippets } from '../../../scripts/docs/snippets.ts'
import { loadExternal } from './load-external.ts'
import { PermanentFailure } from './senders/sender.ts'

const ROOT = join(import.meta.dirname, '../../..')

async function aConfigDir(external: string): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'external-'))
  await mkdir(join(path, 'test'))
  await writeFile(join(path, 'test', 'external.ts'), external)
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}

const NO_SENDER = 'MAIL_URL has the scheme pigeon:, for which no sender is registered; use smtp:, '
const NO_ENVELOPE = expect.stringMatching(/external\.ts does not export a function MAIL_ENVELOPE; export one/)

it.each([
  {
    why: 'an unknown scheme',
    external: 'export const MAIL_ENVELOPE = () => {}',
    url: 'pigeon:',
    faults: [expect.stringContaining(NO_SENDER)],
  },
  {
    why: 'no envelope',
    external: 'export const SENDERS = { pigeon() {} }',
    url: 'pigeon:',
    faults: [NO_ENVELOPE],
  },
  { why: 'both', external: '', url: 'pigeon:', faults: [NO_ENVELOPE, expect.stringContaining(NO_SENDER)] },
  {
    why: 'no envelope beside an invalid URL',
    external: '',
    url: 'x',
    faults: [NO_ENVELOPE, expect.stringMatching(/^MAIL_URL must/)],
  },
])('refuses $why', async ({ external, url, faults }) => {
  await using dir = await aConfigDir(external)
  const loading = loadExternal({ APP_ENV: 'test', MAIL_URL: url }, dir.path)
  await expect(loading).rejects.toMatchObject({ name: 'SettingsError', faults })
})

it('has an example of a sender that works', async () => {
  const [example] = readSnippets(ROOT, 'docs/how-to/change-the-sender.md').filter(
    ({ plan }) => plan?.kind === 'run by',
  )
  const statuses = [202, 422, 503]
  const received: object[] = []
  await using api = createServer((request, response) => {
    request.on('data', (body) => received.push({ url: request.url, ...request.headers, ...JSON.parse(body) }))
    request.on('end', () => response.writeHead(statuses.shift() ?? 500).end())
  }).listen(0, '127.0.0.1')
  await once(api, 'listening')
  const address = api.address()
  const port = typeof address === 'object' ? address?.port : undefined

  // Inside the project, which has what the example imports.
  await using config = await mkdtempDisposable(join(import.meta.dirname, '.generated-'))
  await writeFile(join(config.path, 'external.ts'), "export * from '../../../../config/external.ts'\n")
  const file = join(config.path, 'staging', 'external.ts')
  await mkdir(dirname(file))
  await writeFile(file, example?.text ?? '')
  const url = `mailapi://token@127.0.0.1:${port}/messages`
  const { createSender } = await loadExternal({ APP_ENV: 'staging', MAIL_URL: url }, config.path)

  const sender = createSender(url, { concurrency: 1 })
  const mail = { messageId: '<1@x>', from: 'a@x', to: 'b@x', subject: 'Code', html: '', text: 'Hello' }
  await sender.send(mail)
  expect(received).toMatchObject([
    { url: '/messages', authorization: 'Bearer token', 'idempotency-key': '<1@x>', ...mail },
  ])
  await expect(sender.send(mail)).rejects.toThrow(PermanentFailure)
  await expect(sender.send(mail)).rejects.not.toThrow(PermanentFailure)
})
