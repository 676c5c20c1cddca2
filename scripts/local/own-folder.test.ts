import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitFor } from '@latchkey/test-support/wait-for.ts'
import { expect, it } from 'vitest'
import { createOwnFolder } from './own-folder.ts'

/** A process that does not ask for the end of its child: it blocks. */
const PARENT_OF_ZOMBIE = `console.log(require('node:child_process').spawn('true').pid)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`

it('removes what a killed start left, and nothing else', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'own-folder-'))
  const { pid: dead } = spawnSync('true')
  using parent = spawn(process.execPath, ['--eval', PARENT_OF_ZOMBIE], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const zombie = Number((await once(parent.stdout, 'data'))[0])
  // Only Linux tells a process that has ended from one that runs.
  if (process.platform === 'linux')
    await waitFor(() => readFileSync(`/proc/${zombie}/stat`, 'utf8').includes(') Z '))
  const ended = [dead, process.pid, ...(process.platform === 'linux' ? [zombie] : [])]
  const kept = [`inbox-${process.ppid}`, `inbox-draft-x`, `other-${dead}`, 'postgres']
  for (const name of [...kept, ...ended.map((pid) => `inbox-${pid}`)]) {
    mkdirSync(join(folder.path, name))
    writeFileSync(join(folder.path, name, 'mail.eml'), 'a code')
  }
  const own = createOwnFolder(folder.path, 'inbox')
  expect(own).toBe(join(folder.path, `inbox-${process.pid}`))
  expect(readdirSync(folder.path).sort()).toEqual([...kept, `inbox-${process.pid}`].sort())
  expect(readdirSync(own), 'of an earlier process with this pid').toEqual([])
  expect(statSync(own).mode & 0o777).toBe(0o700)
})
