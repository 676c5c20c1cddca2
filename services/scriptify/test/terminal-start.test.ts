import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { MAIN } from './terminal-docker.ts'
import { startTypist } from './terminal-pty.ts'

const CTRL_C = '\x03'

/** A terminal whose worker goes on starting when `letStart` is called: OpenSSL reads its settings from a pipe. */
async function openHeldTerminal() {
  const folder = await mkdtempDisposable(join(tmpdir(), 'scriptify-start-'))
  const pipe = join(folder.path, 'openssl.cnf')
  execFileSync('mkfifo', [pipe])
  const words = ['terminal', '--runtime', 'node', '--no-history', '--env', `OPENSSL_CONF=${pipe}`]
  const typist = startTypist(process.execPath, [MAIN, ...words], {
    prompt: /node[>*] /,
    cwd: folder.path,
    env: { NO_COLOR: '1', NODE_OPTIONS: undefined },
  })
  const worker = await vi.waitFor(
    () => {
      const children = readFileSync(`/proc/${typist.pty.pid}/task/${typist.pty.pid}/children`, 'utf8')
      if (children === '') throw new Error('The worker has not started')
      return Number(children.trim())
    },
    { timeout: 30_000 },
  )
  return Object.assign(typist, {
    worker,
    letStart: () => writeFile(pipe, ''),
    async [Symbol.asyncDispose]() {
      typist.pty.kill('SIGKILL')
      await typist.exited
      await folder.remove()
    },
  })
}

describe.concurrent('the node terminal, before its worker is ready', () => {
  it('keeps what is typed until it can run', async () => {
    await using terminal = await openHeldTerminal()
    terminal.type('const six = 6\r.ls\rsix * 7\r')
    await terminal.see('six * 7')
    await terminal.letStart()
    await terminal.see(/six {2}number[\s\S]*=> 42\s+node> $/)
  })

  it('is left by Ctrl-C, with its worker', async () => {
    await using terminal = await openHeldTerminal()
    terminal.type(CTRL_C)
    expect(await terminal.exited).toBe(130)
    expect(() => process.kill(terminal.worker, 0)).toThrow('ESRCH')
  })

  it('ends with 1, and says why, when the worker dies', async () => {
    await using terminal = await openHeldTerminal()
    process.kill(terminal.worker, 'SIGKILL')
    await terminal.see(/The process ended during start-up \(it was ended by SIGKILL\)/)
    expect(await terminal.exited).toBe(1)
  })
})

it('shows what a preload prints above the first prompt', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'scriptify-start-'))
  writeFileSync(join(folder.path, 'noisy.ts'), `await import('node:crypto'); console.log('from the preload')`)
  const words = ['terminal', '--runtime', 'node', '--no-history', '--preload', 'noisy.ts']
  await using terminal = startTypist(process.execPath, [MAIN, ...words], {
    prompt: /node[>*] /,
    cwd: folder.path,
  })
  expect(await terminal.see(/node> $/)).toMatch(/^from the preload\s+Scriptify terminal[^>]*node> $/)
})
