import { mkdtempDisposable, readdir, readFile, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { credentialsPath, writeCredentials } from './credentials-file.ts'

describe('writeCredentials', () => {
  it('writes secrets once, readable only by their owner, and again only when told', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-credentials-'))
    const path = credentialsPath(folder.path, 'dev')
    const write = async () => ({
      hasWritten: await writeCredentials(folder.path, 'dev'),
      text: await readFile(path, 'utf8'),
    })
    const writes = await Promise.all([1, 2, 3, 4].map(write))
    expect(writes.filter(({ hasWritten }) => hasWritten)).toHaveLength(1)
    expect(new Set(writes.map(({ text }) => text)), 'what each then reads').toEqual(
      new Set([writes[0]?.text]),
    )
    const { text } = await write()
    expect(text).toMatch(/^JWT_SECRET=.+\nMAIL_SECRET=.+\nFACTOR_SECRET=.+\n$/m)
    expect((await stat(path)).mode & 0o777).toBe(0o600)

    expect(await writeCredentials(folder.path, 'dev', { overwrite: true })).toBe(true)
    expect((await write()).text).not.toBe(text)
    expect(await readdir(join(folder.path, 'dev')), 'and leaves nothing beside it').toEqual([
      'credentials.env',
    ])
  })
})
