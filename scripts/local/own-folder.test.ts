import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createOwnFolder } from './own-folder.ts'

it('removes what a killed start left, and nothing else', async () => {
  await using parent = await mkdtempDisposable(join(tmpdir(), 'own-folder-'))
  const { pid: dead } = spawnSync('true')
  // Its parent sleeps, and does not ask for its end.
  using parentOfZombie = spawn('sh', ['-c', 'true & echo $!; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [zombie] = await once(parentOfZombie.stdout, 'data')
  // Only Linux tells a process that has ended from one that runs.
  const ended = [dead, process.pid, ...(process.platform === 'linux' ? [Number(zombie)] : [])]
  const kept = [`inbox-${process.ppid}`, `inbox-draft-x`, `other-${dead}`, 'postgres']
  for (const name of [...kept, ...ended.map((pid) => `inbox-${pid}`)]) {
    mkdirSync(join(parent.path, name))
    writeFileSync(join(parent.path, name, 'mail.eml'), 'a code')
  }
  const own = createOwnFolder(parent.path, 'inbox')
  expect(own).toBe(join(parent.path, `inbox-${process.pid}`))
  expect(readdirSync(parent.path).sort()).toEqual([...kept, `inbox-${process.pid}`].sort())
  expect(readdirSync(own), 'of an earlier process with this pid').toEqual([])
  expect(statSync(own).mode & 0o777).toBe(0o700)
})
