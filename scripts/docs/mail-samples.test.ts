import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ROOT } from './generated-pages.ts'
import { fingerprintMails } from './mail-samples.ts'

it('has pictures of the mails as they are; `npm run docs:mails` takes them', async () => {
  const pictured = await readFile(join(ROOT, 'docs/images/mails/fingerprint.txt'), 'utf8')
  expect(pictured.trim()).toBe(await fingerprintMails())
})
