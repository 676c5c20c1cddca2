import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { listProjectClasses } from './list-classes.ts'

it('lists the class that a file is named after, and no other one in it', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-classes-'))
  await mkdir(join(folder.path, 'src'))
  const write = (file: string, text: string) => writeFile(join(folder.path, file), text)
  await write('package.json', '{"scriptify": {"namespaces": {"App": "src/"}}}')
  await write('src/user-list.ts', 'class Row {}\n/** Prints users. */\nexport default class UserList {}\n')
  await write('src/whole-number.ts', '/** An error. */\nexport class ArgumentError extends Error {}\n')
  expect(await listProjectClasses(folder.path)).toEqual([{ name: 'App\\UserList', summary: 'Prints users.' }])
})
