import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { MAIN } from './terminal-docker.ts'
import { startTypist } from './terminal-pty.ts'
import { watchScreen } from './terminal-screen.ts'

const CTRL_C = '\x03'
const CTRL_D = '\x04'

/** A terminal at its prompt, whose worker goes on starting when `letStart` is called: OpenSSL reads its settings from a pipe. */
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
  await typist.see(/node> $/)
  return Object.assign(typist, {
    letStart: () => writeFile(pipe, ''),
    /** It starts behind the prompt. */
    worker: () =>
      vi.waitFor(
        () => {
          const children = readFileSync(`/proc/${typist.pty.pid}/task/${typist.pty.pid}/children`, 'utf8')
          if (children === '') throw new Error('The worker has not started')
          return Number(children.trim())
        },
        { timeout: 30_000 },
      ),
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

  it('shows at the next prompt, and only there, a line that was begun meanwhile', async () => {
    await using terminal = await openHeldTerminal()
    const screen = watchScreen(terminal)
    terminal.type('const six = 6\rsix *')
    await terminal.see('six *')
    await terminal.letStart()
    await terminal.see(/node> six \*$/)
    terminal.type(' 7\r')
    await terminal.see(/=> 42\s+node> $/)
    await vi.waitFor(() =>
      expect(screen.rows().filter((row) => row !== '')).toEqual([
        'const six = 6',
        'node> six * 7',
        '=> 42',
        'node>',
      ]),
    )
  })

  it('drops at Ctrl-C what it could not run yet', async () => {
    await using terminal = await openHeldTerminal()
    terminal.type('console.log("r" + "un")\r')
    await terminal.see('"un")')
    terminal.type(CTRL_C)
    await terminal.letStart()
    expect(await terminal.see(/node> $/)).toMatch(/^\s*Interrupted\s+node> $/)
    expect(await terminal.enter('1 + 1')).toContain('=> 2')
  })

  it('is left by Ctrl-D, with its worker', async () => {
    await using terminal = await openHeldTerminal()
    const worker = await terminal.worker()
    terminal.type(CTRL_D)
    expect(await terminal.exited).toBe(0)
    expect(await terminal.see(/^/)).not.toContain('\n\n')
    expect(() => process.kill(worker, 0)).toThrow('ESRCH')
  })

  it('ends with 1, and says why, when the worker dies', async () => {
    await using terminal = await openHeldTerminal()
    terminal.type('1 + 1')
    process.kill(await terminal.worker(), 'SIGKILL')
    await terminal.see(
      /\nSomething before the first line of code ended the process \(it was ended by SIGKILL\)/,
    )
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

it('gives no value to the pager of a terminal that does not tell its size', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'scriptify-start-'))
  const command = `stty rows 0 cols 0; exec "${process.execPath}" "${MAIN}" terminal --runtime node --no-history`
  await using terminal = startTypist('/bin/sh', ['-c', command], {
    prompt: /node[>*] /,
    cwd: folder.path,
    env: { NO_COLOR: '1', PAGER: 'echo paged' },
  })
  await terminal.see(/node> $/)
  expect(await terminal.enter('6 * 7')).toMatch(/=> 42\s+node> $/)
})
