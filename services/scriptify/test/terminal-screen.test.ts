import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { MAIN, ROOT } from './terminal-docker.ts'
import { startTypist } from './terminal-pty.ts'
import { watchScreen } from './terminal-screen.ts'

const CTRL_C = '\x03'
const CTRL_D = '\x04'
const CTRL_Z = '\x1a'
const HOME = '\x1b[H'
const GREEN = 2
const prompt = /node[>*] /
const PATIENCE = { timeout: 60_000, interval: 20 }

/** Node shows no colours where CI is set. */
const AS_AT_HOME = { CI: undefined, NO_COLOR: undefined, FORCE_COLOR: undefined }

interface Setting {
  cols?: number
  rows?: number
  env?: Record<string, string | undefined>
}

/** A terminal as a person sees it. Unlike the other suites, this one does not switch colours off. */
async function openScreen({ cols = 100, rows = 30, env }: Setting = {}) {
  const state = mkdtempSync(join(tmpdir(), 'scriptify-state-'))
  const typist = startTypist(process.execPath, [MAIN, 'terminal', '--runtime', 'node', '--no-preload'], {
    prompt,
    cwd: ROOT,
    cols,
    rows,
    env: { XDG_STATE_HOME: state, ...AS_AT_HOME, ...env },
  })
  let written = ''
  typist.pty.onData((data) => {
    written += data
  })
  const screen = watchScreen(typist)
  await typist.see(/node> $/)
  const last = (count: number) =>
    screen
      .rows()
      .slice(-count)
      .map((row) => row.trimEnd())
  return Object.assign(typist, {
    screen,
    written: () => written,
    /** Waits until the last rows are these. */
    shows: (...rows: string[]) => vi.waitFor(() => expect(last(rows.length)).toEqual(rows), PATIENCE),
    /** Waits until what has the color is this. */
    colors: (color: number, ...texts: string[]) =>
      vi.waitFor(() => expect(screen.inColor(color)).toEqual(texts), PATIENCE),
  })
}

describe.concurrent('the screen of a terminal', () => {
  it('shows values in colours, and what is typed without', async () => {
    await using terminal = await openScreen()
    terminal.type('const a = ["x"]')
    await terminal.shows('node> const a = ["x"]')
    terminal.type(CTRL_C)
    await terminal.shows('node> const a = ["x"]^C', 'node>')
    terminal.type('["x"]\r')
    await terminal.shows('node> ["x"]', "=> [ 'x' ]", 'node>')
    await terminal.colors(GREEN, "'x'")
  })

  it('has 20 columns', async () => {
    await using terminal = await openScreen({ cols: 20, env: { NO_COLOR: '1' } })
    terminal.type('const 漢字 = "日本語 é"')
    await terminal.shows('node> const 漢字 = "', '日本語 é"')
    terminal.type(HOME)
    terminal.type('/* 1 */ ')
    await terminal.shows('node> /* 1 */ const', '漢字 = "日本語 é"')
    expect(terminal.screen.cursor()).toMatchObject({ x: 14 })
    terminal.type('\r')
    await terminal.shows('漢字 = "日本語 é"', 'node>')
    terminal.type('[漢字, 漢字, 漢字]\r')
    await terminal.shows('=> [', "     '日本語 é',", "     '日本語 é',", "     '日本語 é'", '   ]', 'node>')
    // A message appears above a line of several rows.
    terminal.type('setTimeout(() => { throw 1 }, 500);;\r')
    await terminal.shows(';;', 'node>')
    // Of several keys in one piece readline notices no new row, of a paste and of keys one by one it does.
    terminal.type('\x1b[200~"abcdefghijklmnopqrstuvwxyz"\x1b[201~')
    const message = ['Uncaught exception:', 'Uncaught 1']
    await terminal.shows(';;', ...message, 'node> "abcdefghijklm', 'nopqrstuvwxyz"')
    // Ctrl-C in the first row goes below the last.
    terminal.type(`${HOME}${CTRL_C}`)
    await terminal.shows('node> "abcdefghijklm', 'nopqrstuvwxyz"^C', 'node>')
    terminal.type('"abcdefghijklmnopqrstuvwxyz"')
    await terminal.shows('node> "abcdefghijklm', 'nopqrstuvwxyz"')
    terminal.screen.resize(40, 30)
    terminal.type('.length')
    await terminal.shows('node> "abcdefghijklmnopqrstuvwxyz".lengt', 'h')
    terminal.type('\r')
    await terminal.shows('=> 26', 'node>')
    expect(terminal.screen.inColor(GREEN)).toEqual([])
  })

  it('is dumb: nothing but text is written, and the terminal edits the lines', async () => {
    await using terminal = await openScreen({ env: { TERM: 'dumb' } })
    terminal.type('conzt\x7f\x7fst a = "é" // x\r')
    await terminal.see(/node> $/)
    terminal.type('lost')
    await terminal.see('lost')
    terminal.type(CTRL_C)
    await terminal.shows(
      'node> const a = "é" // x',
      'node> lost^C',
      'To exit, press Ctrl-D or type exit',
      'node>',
    )
    terminal.type('lost\x15a\r')
    await terminal.shows("=> 'é'", 'node>')
    terminal.type('console.log("be" + "gun"); while (true);\r')
    await terminal.see('begun')
    terminal.type(CTRL_C)
    await terminal.see(/Interrupted\s+node> $/)
    expect(await terminal.enter('Array.from({ length: 100 }, () => "some text")')).not.toContain('\x1b')
    expect(terminal.written()).not.toContain('\x1b')
    terminal.type(CTRL_D)
    expect(await terminal.exited).toBe(0)
  })

  it('refuses what is not UTF-8', async () => {
    await using terminal = await openScreen({ env: { LC_ALL: 'de_DE.ISO-8859-1', NO_COLOR: '1' } })
    Reflect.apply(terminal.pty.write, terminal.pty, [
      Buffer.from('globalThis.written = "caf\xe9"\r', 'latin1'),
    ])
    await terminal.see('has a character that is not UTF-8, and was not run')
    expect(await terminal.enter('typeof written')).toContain("=> 'undefined'")
    expect(await terminal.enter('"é".length')).toContain('=> 1')
    expect(await terminal.enter('.history')).not.toContain('globalThis')
  })

  it('shows nothing of a paste that a terminal would obey', async () => {
    await using terminal = await openScreen()
    terminal.type('\x1b[200~"a\x1b]0;title\x07\x1b[31mb\x00c\x7f"\x1b[201~')
    await terminal.see('c"')
    terminal.type('.length\r')
    await terminal.see('=> ')
    for (const control of ['\x1b]', '\x07', '\x00']) expect(terminal.written()).not.toContain(control)
  })

  it('is left by Ctrl-Z and entered again by fg', async () => {
    const env = { PS1: 'shell> ', HISTFILE: '', NO_COLOR: '1' }
    await using shell = startTypist('bash', ['--norc', '-i'], { prompt: /shell> /, cwd: ROOT, env })
    await shell.see(/shell> $/)
    shell.type(`'${process.execPath}' ${MAIN} terminal --runtime node --no-preload --no-history\r`)
    await shell.see(/node> $/)
    shell.type('const a = 1')
    await shell.see('const a = 1')
    shell.type(CTRL_Z)
    await shell.see(/Stopped[\s\S]*shell> $/)
    shell.type('fg\r')
    await shell.see(/node> const a = 1$/)
    shell.type('0\r')
    await shell.see(/node> $/)
    // Pastes are noticed as before.
    shell.type('\x1b[200~a +\n5\x1b[201~\r')
    await shell.see('=> 15')
    shell.type(
      'for (let at = 0; ; ) if (Date.now() > at + 200) console.log("run" + "ning", (at = Date.now()))\r',
    )
    await shell.see('running')
    shell.type(CTRL_Z)
    await shell.see(/Stopped[\s\S]*shell> $/)
    shell.type('fg\r')
    await shell.see('running')
    shell.type(CTRL_C)
    await shell.see(/Interrupted\s+node> $/)
  })
})
