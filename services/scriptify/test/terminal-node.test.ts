import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, it, test, vi } from 'vitest'
import { MAIN, ROOT } from './terminal-docker.ts'
import { startTypist } from './terminal-pty.ts'

const CTRL_C = '\x03'
const CTRL_D = '\x04'
const prompt = /node[>*] /
/** Prints what the echo of its text does not contain. */
const SAY_BEGUN = 'console.log("be" + "gun")'

const openTerminal = async (args: string[] = [], env: Record<string, string> = {}) => {
  const state = mkdtempSync(join(tmpdir(), 'scriptify-state-'))
  const typist = startTypist(
    process.execPath,
    [MAIN, 'terminal', '--runtime', 'node', '--no-preload', ...args],
    {
      prompt,
      cwd: ROOT,
      env: { XDG_STATE_HOME: state, NO_COLOR: '1', ...env },
    },
  )
  const banner = await typist.see(/node> $/)
  return Object.assign(typist, { banner })
}

type OpenTerminal = Awaited<ReturnType<typeof openTerminal>>

describe.concurrent('the node terminal', () => {
  it('ends without a word when its terminal is closed', async ({ expect }) => {
    const said = join(mkdtempSync(join(tmpdir(), 'scriptify-closed-')), 'said')
    const args = ['-c', '"$0" "$@" 2>"$SAID"; true', process.execPath, MAIN, 'terminal', '--runtime', 'node']
    const options = { prompt, cwd: ROOT, env: { SAID: said, NO_COLOR: '1' } }
    const typist = startTypist('sh', [...args, '--no-preload', '--no-history'], options)
    await typist.see(/node> $/)
    const [, pid] = /=> (\d+)/.exec(await typist.enter('process.ppid')) ?? []
    // A terminal's window does this when it is closed.
    Reflect.apply(Reflect.get(typist.pty, 'destroy'), typist.pty, [])
    await expect.poll(() => existsSync(`/proc/${pid}`), { timeout: 10_000 }).toBe(false)
    expect(readFileSync(said, 'utf8')).toBe('')
  })

  const ENDS = [
    { why: 'a parse error', line: 'let z = ;', says: 'SyntaxError' },
    { why: 'an exception', line: 'throw new Error("boo")', says: 'Error: boo' },
    { why: 'endless recursion', line: '(function r() { r() })()', says: 'RangeError' },
    {
      why: 'exit in a library',
      line: '(() => { try { process.exit(0) } catch {} finally { console.log("went" + " on") } })()',
      says: 'process.exit(0) was called',
    },
    { why: 'exit with a code', line: 'process.exit(3)', says: 'process.exit(3) was called' },
    { why: 'an exit after an await', line: 'await 1; process.exit(4)', says: 'process.exit(4) was called' },
    {
      why: 'what is not a message on the socket of the terminal',
      line: 'require("node:fs").writeSync(3, "{}\\nno json\\n")',
      says: '=> 11',
    },
    {
      why: 'SIGSEGV',
      line: 'process.kill(process.pid, "SIGSEGV"); await new Promise(() => {})',
      says: 'ended the process',
    },
    {
      why: 'SIGKILL',
      line: 'process.kill(process.pid, "SIGKILL"); await new Promise(() => {})',
      says: 'ended the process',
    },
    {
      why: 'memory exhaustion',
      line: 'const big = []; for (;;) big.push(new Array(1000).fill(1.5))',
      says: 'ended the process',
    },
  ]
  it('survives errors, exits, signals and memory exhaustion, one after the other', async () => {
    await using terminal = await openTerminal([], { SCRIPTIFY_MEMORY_LIMIT: '64M' })
    await terminal.enter('const kept = { a: [1, "é"] }')
    await terminal.enter('function twice(n: number) { return 2 * n }')
    await terminal.enter('enum Suit { Hearts, Spades }')
    for (const { why, line, says } of ENDS) {
      terminal.type(`${line}\r`)
      const shown = await terminal.see(new RegExp(`${says.replace(/[()]/g, '\\$&')}[\\s\\S]*node> $`))
      expect(shown, why).not.toContain('went on')
      expect(await terminal.enter('[kept.a[1], twice(4), Suit.Spades]'), why).toContain("=> [ 'é', 8, 1 ]")
    }
  })

  it('ends in one line when the preload lets no new process start', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'scriptify-preload-'))
    writeFileSync(
      join(folder, 'once.ts'),
      `import { existsSync, writeFileSync } from 'node:fs'
       if (existsSync('started')) process.kill(process.pid, 'SIGKILL')
       writeFileSync('started', '')`,
    )
    const words = [MAIN, 'terminal', '--runtime', 'node', '--rootdir', folder, '--preload', 'once.ts']
    await using terminal = startTypist(process.execPath, words, {
      prompt,
      cwd: ROOT,
      env: { XDG_STATE_HOME: folder, NO_COLOR: '1' },
    })
    await terminal.see(/node> $/)
    terminal.type('setTimeout(() => process.kill(process.pid, "SIGKILL"), 100);\r')
    await terminal.see(/The preload \S*once\.ts ended the process \(it was ended by SIGKILL\)/)
    terminal.type('1 + 1\r')
    expect(await terminal.exited).toBe(1)
  })

  it('leaves at Ctrl-D, and keeps the history for the next session, but no secret', async () => {
    const state = mkdtempSync(join(tmpdir(), 'scriptify-state-'))
    {
      await using terminal = await openTerminal([], { XDG_STATE_HOME: state })
      await terminal.enter('function two() {')
      await terminal.enter('return 2 }')
      await terminal.enter('const password = "hunter2"')
      await terminal.enter(' "not kept"')
      terminal.type(CTRL_D)
      expect(await terminal.exited).toBe(0)
    }
    await using terminal = await openTerminal([], { XDG_STATE_HOME: state })
    const history = await terminal.enter('.history')
    expect(history).toContain('function two() {\nreturn 2 }')
    expect(history).not.toMatch(/hunter2|not kept/)
  })

  it('marks production, opens where no history can be kept, and leaves at exit();', async () => {
    await using terminal = await openTerminal(['--env', 'APP_ENV=prod'], { XDG_STATE_HOME: '/proc/nope' })
    expect(terminal.banner).toContain('PRODUCTION')
    expect(terminal.banner).toContain('The history is not kept: /proc/nope/scriptify/history-')
    expect(await terminal.enter('1 + 1')).toContain('=> 2')
    terminal.type('exit();\r')
    expect(await terminal.exited).toBe(0)
  })

  it('keeps no history in the working directory, and leaves at .exit', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'scriptify-homeless-'))
    await using terminal = startTypist(
      process.execPath,
      [MAIN, 'terminal', '--runtime', 'node', '--no-preload'],
      { prompt, cwd: folder, env: { HOME: '', XDG_STATE_HOME: 'state' } },
    )
    await terminal.see(/node> $/)
    await terminal.enter('const kept = 5')
    expect(readdirSync(folder)).toEqual([])
    terminal.type('.exit\r')
    expect(await terminal.exited).toBe(0)
  })
})

describe('the node terminal, used by one case after the other', () => {
  let opened: Promise<OpenTerminal> | undefined
  const close = async () => {
    const terminal = await opened
    opened = undefined
    await terminal?.[Symbol.asyncDispose]()
  }
  afterAll(close)
  /** A test with a terminal; each case that succeeds leaves an empty prompt. */
  const it = test.extend<{ terminal: OpenTerminal }>({
    async terminal({ onTestFailed }, use) {
      onTestFailed(close)
      opened ??= openTerminal()
      await use(await opened)
    },
  })

  const ENDLESS = [
    { why: 'a loop', line: `${SAY_BEGUN}; for (;;);` },
    { why: 'a loop after an await', line: `${SAY_BEGUN}; await 1; for (;;);` },
    { why: 'a sleep', line: `${SAY_BEGUN}; await new Promise((resolve) => setTimeout(resolve, 60_000))` },
    {
      why: 'a blocking sleep',
      line: `${SAY_BEGUN}; Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000)`,
    },
    {
      why: 'a child process',
      line: `require("node:child_process").execSync("echo be''gun; sleep 60", { stdio: "inherit" })`,
    },
  ]
  it('runs nothing that a Ctrl-C follows at once', async ({ terminal }) => {
    terminal.type(`while (true) {}\r${CTRL_C}`)
    expect(await terminal.see(/Interrupted\s+node> $/)).not.toContain('still running')
    expect(await terminal.enter('1 + 1')).toContain('=> 2')
  })

  it('stops what runs at Ctrl-C, and keeps its state', async ({ terminal }) => {
    await terminal.enter('const kept = 41')
    for (const { why, line } of ENDLESS) {
      terminal.type(`${line}\r`)
      await terminal.see('begun')
      terminal.type(CTRL_C)
      await terminal.see(/node> $/)
      expect(await terminal.enter('kept + 1'), why).toContain('=> 42')
    }
  })

  it('shows values, keeps state, and speaks TypeScript', async ({ terminal }) => {
    expect(await terminal.enter('const x: number = 5')).not.toContain('=>')
    expect(await terminal.enter('x * 2')).toContain('=> 10')
    expect(await terminal.enter('const x = 7')).not.toContain('Error')
    expect(await terminal.enter('interface Point {')).toMatch(/node\* $/)
    expect(await terminal.enter('a: number }')).toMatch(/node> $/)
    expect(await terminal.enter('enum Suit { Hearts, Spades }')).not.toContain('Error')
    expect(await terminal.enter('Suit.Spades')).toContain('=> 1')
    expect(await terminal.enter('import { basename } from "node:path"')).not.toContain('Error')
    expect(await terminal.enter('basename("/a/b")')).toContain("=> 'b'")
    expect(await terminal.enter('(await import("node:os")).EOL')).toContain("=> '\\n'")
    expect(await terminal.enter('{ a: x }')).toContain('=> { a: 7 }')
    expect(await terminal.enter('x = 8;')).toContain('TypeError')
  })

  it('answers for values that throw when they are looked at', async ({ terminal }) => {
    const throwing = 'new Proxy({}, { get() { throw new Error("trap") } })'
    await terminal.enter(`const proxy = new Proxy({}, ${throwing})`)
    await terminal.enter(`const list = new Proxy([], ${throwing})`)
    await terminal.enter('const heir = Object.create(proxy)')
    await terminal.enter('class Odd { static get name() { throw 4 }; toString() { throw this } }')
    await terminal.enter('const odd = { get constructor() { throw new Odd() } }')
    const answers = {
      proxy: '=> (cannot be shown: Error: trap)',
      'throw proxy': 'Uncaught (cannot be shown: Error: trap)',
      'Promise.reject(proxy)': 'Uncaught (cannot be shown: Error: trap)',
      '({ [Symbol.for("nodejs.util.inspect.custom")]() { throw new Odd() } })': '=> (cannot be shown)',
      '.ls': 'proxy  Proxy\nlist  Proxy\nheir  object\nOdd  class\nodd  object\n',
    }
    for (const [line, answer] of Object.entries(answers))
      expect((await terminal.enter(line)).replaceAll('\r', ''), line).toContain(answer)
    terminal.type('setTimeout(() => { throw proxy });;\r')
    await terminal.see(/Uncaught exception: Uncaught \(cannot be shown: Error: trap\)[\s\S]*node> $/)
    for (const name of ['proxy', 'heir']) {
      terminal.type(`${name}.\t${CTRL_C}`)
      await terminal.see(/node> $/)
    }
    expect(await terminal.enter('1 + 1')).toContain('=> 2')
  })

  it('reports failures that nobody awaited, and goes on', async ({ terminal }) => {
    terminal.type('void Promise.reject(new Error("late"))\r')
    await terminal.see(/Unhandled rejection: Error: late/)
    terminal.type('setTimeout(() => { process.exit(4) }, 20)\r')
    await terminal.see(/process\.exit\(4\) was called[\s\S]*node> $/)
    expect(await terminal.enter('1 + 1')).toContain('=> 2')
  })

  it('shows bounded values', async ({ terminal }) => {
    expect((await terminal.enter('Array.from({ length: 1e6 }, (_, i) => i)')).length).toBeLessThan(5000)
    expect(
      (await terminal.enter('Object.fromEntries(Array.from({ length: 1e5 }, (_, i) => ["k" + i, i]))'))
        .length,
    ).toBeLessThan(5000)
    expect((await terminal.enter('"x".repeat(1e7)')).length).toBeLessThan(5000)
    expect(await terminal.enter('const o: any = {}; o.o = o; o')).toContain('[Circular *1]')
  })

  it('takes a paste as one unit, tabs and all', async ({ terminal }) => {
    terminal.type('\x1b[200~if (false) {\n\t1\n}\nelse {\n\t"other"\n}\x1b[201~')
    await terminal.see(/"other"\s+node\* \}$/)
    terminal.type('\r')
    expect(await terminal.see(/node> $/)).not.toContain('Error')
    expect(await terminal.enter('"a\tb".length')).toContain('=> 3')
  })

  it('takes a long line in one piece', async ({ terminal }) => {
    const writes = () =>
      Number(/^syscw: (\d+)$/m.exec(readFileSync(`/proc/${terminal.pty.pid}/io`, 'utf8'))?.[1])
    const before = writes()
    terminal.type(`\x1b[200~"${'x'.repeat(200_000)}".length\x1b[201~\r`)
    await terminal.see(/=> 200000\s+node> $/)
    // Key by key, readline looks through the line and writes a piece of it for each key.
    expect(writes() - before).toBeLessThan(20_000)
  })

  it('ends a paste at Ctrl-C', async ({ terminal }) => {
    terminal.type('\x1b[200~"lost')
    terminal.type(CTRL_C)
    await terminal.see(/node> $/)
    expect(await terminal.enter('1 + 1')).toContain('=> 2')
  })

  it('shows no file of scriptify in what code prints', async ({ terminal }) => {
    const lines = [
      'console.log(new Error("e"), process.argv); console.trace()',
      'new Error("e").stack',
      'globalThis',
      'await import("./nope.ts").catch(({ message, stack }: Error) => [message, stack])',
    ]
    for (const line of lines) expect(await terminal.enter(line)).not.toMatch(/scriptify\/src|node:inspector/)
  })

  it('completes names and members without running getters', async ({ terminal }) => {
    await terminal.enter(
      'const thing = { get explosive() { console.log("BANG"); return 1 }, expression: { deep: 1 } }',
    )
    await terminal.complete('thin', 'thing')
    await terminal.complete('.explo', 'explosive')
    expect(await terminal.see('explosive')).not.toContain('BANG')
    terminal.type(CTRL_C)
    await terminal.see(/node> $/)
    await terminal.complete('thing.expression.d', 'thing.expression.deep')
    terminal.type(CTRL_C)
    await terminal.see(/node> $/)
    await terminal.complete('.hist', '.history')
    terminal.type(CTRL_C)
    await terminal.see(/node> $/)
  })

  it('completes after a literal, and in the path of an import', async ({ terminal }) => {
    const CASES = [
      { line: '[1, [2]].fla', completes: 'flatMap' },
      { line: '"a".toUpp', completes: 'toUpperCase' },
      { line: '/a/.te', completes: 'test' },
      { line: 'import { greet } from "./services/scriptify/test/run/node/src/need', completes: 'needy.ts' },
      { line: 'await import("./services/scriptify/te', completes: '/test/' },
    ]
    for (const { line, completes } of CASES) {
      await terminal.complete(line, completes)
      terminal.type(CTRL_C)
      await terminal.see(/node> $/)
    }
  })

  it('offers nothing that every object has for itself', async ({ terminal }) => {
    await terminal.enter('import { Probe } from "./services/scriptify/test/run/node/src/probe.ts"')
    await terminal.enter('const hiding = new Probe()')
    await terminal.complete('hiding.', 'toString')
    const shown = await terminal.see('toString')
    expect(shown).toContain('later')
    expect(shown).not.toContain('__defineGetter__')
    terminal.type(CTRL_C)
    await terminal.see(/node> $/)
  })

  it('survives any number of Ctrl-C while it starts a new process', async ({ terminal }) => {
    terminal.type(`${SAY_BEGUN}; while (true);\r`)
    await terminal.see('begun')
    for (let presses = 0; presses < 30; presses++) {
      terminal.type(CTRL_C)
      await sleep(33)
    }
    await terminal.see(/(The statement ended the process|Interrupted)[\s\S]*node> $/)
    expect(await terminal.enter('1 + 1')).toContain('=> 2')
  })

  it('starts another process when a SIGINT ends one that cannot catch it yet', async ({ terminal }) => {
    await terminal.enter('const kept = 5')
    const children = `/proc/${terminal.pty.pid}/task/${terminal.pty.pid}/children`
    const before = readFileSync(children, 'utf8')
    terminal.type('.reload\r')
    const started = await vi.waitUntil(
      () =>
        readFileSync(children, 'utf8')
          .split(' ')
          .find((pid) => pid !== '' && !before.includes(pid)),
      { timeout: 60_000, interval: 1 },
    )
    process.kill(Number(started), 'SIGINT')
    await terminal.see('Reloaded')
    expect(await terminal.enter('kept')).toContain('=> 5')
  })

  it('finds and changes what was typed before', async ({ terminal }) => {
    await terminal.enter('const apples = 3')
    await terminal.enter('apples * 2')
    terminal.type('[\r')
    await terminal.see(/node\* $/)
    expect(await terminal.enter('10, 20].length')).toContain('=> 2')
    // Ctrl-R, the older of two entries, Enter.
    terminal.type('\x12')
    await terminal.see("(search '')")
    for (const letter of 'apples') terminal.type(letter)
    await terminal.see("(search 'apples') apples * 2")
    terminal.type('\x12')
    await terminal.see("(search 'apples') const apples = 3")
    terminal.type('\x07')
    await terminal.see(/node> $/)
    terminal.type('\x12')
    await terminal.see("(search '')")
    for (const letter of ' * 2') terminal.type(letter)
    await terminal.see("(search ' * 2') apples * 2")
    terminal.type('\r')
    await terminal.see('=> 6')
    terminal.type('\x12')
    await terminal.see("(search '')")
    for (const letter of 'none') terminal.type(letter)
    await terminal.see("(nothing with 'none')")
    terminal.type(CTRL_C)
    await terminal.see(/node> $/)
    // Up with the beginning of a line.
    terminal.type('const')
    await terminal.see('const')
    terminal.type('\x1b[A')
    await terminal.see('const apples = 3')
    terminal.type(CTRL_C)
    await terminal.see(/node> $/)
    // The lines of a statement are edited together: the third Up goes to its first line.
    terminal.type('\x1b[A')
    await terminal.see('apples * 2')
    terminal.type('\x1b[A')
    await terminal.see('10, 20].length')
    terminal.type('\x1b[A5, \r')
    await terminal.see(/=> 3\s+node> $/)
    expect(await terminal.enter('.history')).toContain('\n[5, \n10, 20].length\n')
  })

  it('never restores or names again what .clear forgot', async ({ terminal }) => {
    await terminal.enter('const forgotten = 5')
    await terminal.enter('.clear')
    terminal.type('process.kill(process.pid, "SIGKILL"); await new Promise(() => {})\r')
    expect(await terminal.see(/ended the process[\s\S]*node> $/)).not.toContain('forgotten')
    expect(await terminal.enter('typeof forgotten')).toContain("=> 'undefined'")
  })

  it('clears, reloads and lists', async ({ terminal }) => {
    await terminal.enter('const kept = 5')
    expect(await terminal.enter('.ls')).toMatch(/kept +number/)
    await terminal.enter('const closure = () => 1')
    expect(await terminal.enter('.reload')).toMatch(/Could not be restored: (.+, )?closure\b.*\n+Reloaded/)
    expect(await terminal.enter('kept')).toContain('=> 5')
    await terminal.enter('.clear')
    expect(await terminal.enter('typeof kept')).toContain("=> 'undefined'")
    expect(await terminal.enter('.help')).toContain('.reload')
  })

  it('stops an endless loop in a timer at Ctrl-C, and keeps its state', async ({ terminal }) => {
    await terminal.enter('const kept = new Map([[1, 41]])')
    await terminal.enter('setTimeout(() => { while (true); }, 0);;')
    await terminal.complete('cons')
    terminal.type(CTRL_C)
    await terminal.see(/node> $/)
    terminal.type('1 + 1\r')
    await terminal.see('1 + 1')
    terminal.type(CTRL_C)
    await terminal.see(/Interrupted\s+node> $/)
    expect(await terminal.enter('kept.get(1) + 1')).toContain('=> 42')
  })

  it('shows a value to its end although Ctrl-C comes at the same time', async ({ terminal }) => {
    const busy = `${SAY_BEGUN}; const end = Date.now() + 500; while (Date.now() < end)`
    await terminal.enter(
      `const slow = { [Symbol.for("nodejs.util.inspect.custom")]() { ${busy}; return "whole" } }`,
    )
    terminal.type('slow\r')
    await terminal.see('begun')
    terminal.type(CTRL_C)
    await terminal.see(/whole\s+node> $/)
  })

  it('is freed by Ctrl-C, twice, from what cannot be interrupted', async ({ terminal }) => {
    await terminal.enter('const kept = 41')
    terminal.type(`${SAY_BEGUN}; require("node:crypto").pbkdf2Sync("", "", 2e9, 64, "sha512")\r`)
    await terminal.see('begun')
    terminal.type(CTRL_C)
    await terminal.see('Ctrl-C again stops it by force')
    terminal.type(CTRL_C)
    await terminal.see(/node> $/)
    expect(await terminal.enter('kept + 1')).toContain('=> 42')
  })
})
