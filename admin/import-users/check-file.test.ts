import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { checkFile } from './check-file.ts'

it.each([
  { why: 'UTF-16', content: Buffer.from('username,email,password\n', 'utf16le'), says: 'not UTF-8' },
  {
    why: 'Latin-1 far below',
    content: Buffer.from(
      `username,email,password\nearly,early@x.org,pass\nlate,late@x.org,\u00fc\n`,
      'latin1',
    ),
    says: 'line 3',
  },
  { why: 'a header that cannot be used', content: 'username;email;password\n', says: 'by commas' },
  { why: 'no content', content: '', says: 'is empty' },
])('refuses a file with $why', async ({ content, says }) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-import-'))
  const path = join(folder.path, 'users.csv')
  await writeFile(path, content)
  await expect(checkFile(path)).rejects.toThrow(says)
})

it('refuses a path that cannot be read', async () => {
  await expect(checkFile('/nowhere/users.csv')).rejects.toThrow('cannot be read (ENOENT)')
  await expect(checkFile(tmpdir())).rejects.toThrow('is not a file')
})
