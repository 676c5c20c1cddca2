import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadExternal } from './load-external.ts'

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
