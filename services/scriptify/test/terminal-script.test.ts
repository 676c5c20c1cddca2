import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createCli } from '../src/cli/cli.ts'
import { runCli } from '../src/cli/run-cli.ts'
import type { CommandWords } from '../src/io/replace-process.ts'
import { type Ended, runInProcess } from './run-in-process.ts'
import { findPhpMachine, hasDocker, MAIN, type PhpMachine, ROOT } from './terminal-docker.ts'

interface Case {
  why: string
  /** The text that is piped; or the options, with --execute among them. */
  script?: string | Buffer
  args?: string[]
  code?: number
  stdout?: string
  /** The text on stderr; nothing, where nothing is given. */
  says?: string | RegExp
}

function check({ code, stdout, stderr }: Ended, expected: Case): void {
  expect({ code, stdout }, stderr).toEqual({ code: expected.code ?? 0, stdout: expected.stdout ?? '' })
  if (expected.says === undefined) expect(stderr).toBe('')
  else expect(stderr).toMatch(expected.says)
  expect(stderr).not.toContain('scriptify/src')
}

/** A pattern of exactly this text. */
const literally = (text: string) => text.replaceAll(/[^\w\s]/g, '\\$&')

/** Long enough for no single argument of a program. */
const LONG = '/* padding */\n'.repeat(22_000)

describe.concurrent('a node script', () => {
  const folder = mkdtempSync(join(tmpdir(), 'scriptify-script-'))
  beforeAll(() => {
    // Node warns about a project without a module type.
    writeFileSync(join(folder, 'package.json'), '{}')
    writeFileSync(join(folder, 'seven.ts'), 'export const seven: number = 7')
    writeFileSync(join(folder, 'leave.cjs'), 'process.exit(3)')
    writeFileSync(
      join(folder, 'good.ts'),
      'export const answer = 42; export const qq = () =>\n      Object.assign(Promise.resolve(), { [Symbol.for("scriptify.awaited")]: true })',
    )
    writeFileSync(join(folder, 'bad.ts'), 'throw new Error("boo")')
    writeFileSync(join(folder, 'die.ts'), 'process.exit(0)')
  })
  const node = (args: string[], input: string | Buffer = '', env: NodeJS.ProcessEnv = {}) =>
    runInProcess(['terminal', '--runtime', 'node', '--rootdir', folder, ...args], {
      env: { ...process.env, ...env },
      input,
    })

  it.each<Case>([
    { why: 'nothing, when it is empty' },
    {
      why: 'a syntax error, before anything runs',
      script: 'console.log("a")\nlet x = ;',
      code: 1,
      says: 'SyntaxError: Expression expected ([script].ts:2)',
    },
    {
      why: 'what node says of a return at its top level, before anything runs',
      script: 'console.log("a")\nreturn 5',
      code: 1,
      says: 'SyntaxError: Return statement is not allowed here ([script].ts:2)',
    },
    { why: 'an unfinished statement', script: 'console.log("a")\nif (', code: 1, says: 'SyntaxError' },
    {
      why: 'what stands below its use',
      script:
        'console.log(f({ a: 1 }))\nfunction f(a: A): number { try { return a.a } finally { console.log("f") } }\ninterface A { a: number }',
      stdout: 'f\n1\n',
    },
    { why: 'enums', script: 'enum E { a = 2 }\nconsole.log(E.a)', stdout: '2\n' },
    {
      why: 'files beside its working folder',
      script:
        'import { seven } from "./seven.ts"\nconsole.log(seven, import.meta.dirname === process.cwd(), require("./package.json"), process.argv.length)',
      stdout: '7 true {} 1\n',
    },
    {
      why: '300 KB',
      script: `${LONG}console.log(new Error().stack?.match(/:\\d+/)?.[0])`,
      stdout: ':22001\n',
    },
    {
      why: 'a rejection that is handled later',
      script: 'const late = Promise.reject(new Error("r"))\nawait late.catch(() => {})',
    },
    {
      why: 'what is pending at its end',
      script: 'process.on("exit", () => console.log("exit"))\nsetTimeout(() => console.log("later"), 300)',
      stdout: 'later\nexit\n',
    },
    { why: 'its own exit code', script: 'try { process.exit(7) } finally { console.log(1) }', code: 7 },
    { why: 'an exit in a timer', script: 'setTimeout(() => process.exit(6), 1)', code: 6 },
    { why: 'process.exitCode', script: 'process.exitCode = 4', code: 4 },
    { why: 'the exit of a library', script: 'require("./leave.cjs")', code: 3 },
    {
      why: 'an exception with its cause',
      script: 'console.log("a")\nthrow new TypeError("boo", { cause: new Error("why") })\nconsole.log("b")',
      code: 1,
      stdout: 'a\n',
      says: /^TypeError: boo \(\[script\]\.ts:2\)\n {4}at \[script\]\.ts:2:7\n {2}caused by Error: why /,
    },
    {
      why: 'an exception that it handles',
      script: 'process.on("uncaughtException", () => {})\nsetTimeout(() => { throw 1 })',
    },
    {
      why: 'an exception at its top level that it handles',
      script:
        'process.on("uncaughtException", (e, origin) => console.log(e.message, origin))\nsetTimeout(() => console.log("later"))\nthrow new Error("z")',
      stdout: 'z unhandledRejection\nlater\n',
    },
    {
      why: 'a rejection that it handles, but not its own',
      script: 'process.on("unhandledRejection", () => console.log("no"))\nthrow new Error("z")',
      code: 1,
      says: 'Error: z',
    },
    {
      why: 'a rejection that nothing handles',
      script: 'Promise.reject(new Error("r"))',
      code: 1,
      says: 'Error: r',
    },
    {
      why: 'an error in a timer',
      script: 'setTimeout(() => { throw new Error("t") }, 1)',
      code: 1,
      says: 'Error: t',
    },
    {
      why: 'a wait without an end',
      script: 'await new Promise(() => {})',
      code: 1,
      says: 'The script never finished',
    },
    {
      why: 'a decorator',
      script: '@x class A {}',
      code: 1,
      says: '[script].ts:1 has a decorator, which Node does not run',
    },
    {
      why: 'an import without its extension',
      script: 'import "./seven"',
      code: 1,
      says: 'write "./seven.ts"',
    },
    { why: 'a value under --print', args: ['--print'], script: '1\n2 // two', stdout: '2\n' },
    {
      why: 'a value behind an await',
      args: ['--print'],
      script: 'await 1;\n(await 5) as number;',
      stdout: '5\n',
    },
    { why: 'an object', args: ['--execute', '{ a: 1 }'], stdout: '{ a: 1 }\n' },
    { why: 'a text', args: ['--execute', '"a"'], stdout: "'a'\n" },
    {
      why: 'an --env as it is',
      args: ['--env', 'A=x+y=%41 é$HOME', '--execute', '1; process.env.A'],
      stdout: "'x+y=%41 é$HOME'\n",
    },
    { why: 'no value of a timer', args: ['--execute', 'setTimeout(() => {}, 1)'] },
    { why: 'no value of a statement', args: ['--execute', 'if (true) { 1 }'] },
    { why: 'no value of a function without one', args: ['--execute', '[].forEach(String)'] },
    {
      why: 'stdin, which --execute may read',
      args: ['--execute', 'require("fs").readFileSync(0, "utf8")'],
      script: 'abc',
      stdout: "'abc'\n",
    },
    {
      why: 'bytes that are not UTF-8',
      script: Buffer.from('console.log("caf\xe9")', 'latin1'),
      code: 2,
      says: 'The script is not UTF-8, and was not run',
    },
    {
      why: 'a name that no terminal should obey',
      args: ['--execute', 'class A { static name = "A\x1b]0;title\x07" }; new A()'],
      stdout: 'A\\x1b]0;title\\x07 {}\n',
    },
    { why: 'text that is not UTF-8', args: ['--execute', '"\ufffd"'], code: 2, says: 'not UTF-8' },
    {
      why: 'the names of its preload',
      args: ['--preload', 'good.ts', '--execute', 'answer + 1'],
      stdout: '43\n',
    },
    { why: 'no value of a query', args: ['--preload', 'good.ts', '--execute', 'qq()'] },
    {
      why: 'a preload that fails',
      args: ['--preload', 'bad.ts', '--execute', '1'],
      code: 1,
      says: 'Error: boo (bad.ts:1)',
    },
    {
      why: 'a preload that ends the process',
      args: ['--preload', 'die.ts', '--execute', '1'],
      code: 1,
      says: `The preload ${folder}/die.ts ended the process before the script began`,
    },
    {
      why: 'an error of the preload of scriptify, without its frames',
      args: ['--execute', 'uuid_to_bin("x")'],
      code: 1,
      says: /^TypeError: 'x' is not a UUID \(\[script\]\.ts:1\)\n {4}at \[script\]\.ts:1:\d+\n$/,
    },
    {
      why: 'a database that it cannot use',
      args: ['--env', 'DATABASE_URL=redis://x', '--execute', 'qq("select 1")'],
      code: 1,
      says: /^Error: DATABASE_URL must begin with [^\n]*\n$/,
    },
  ])('means with $why what node means', async (each) => {
    const preload = each.args?.includes('--preload') || each.args?.some((word) => /uuid|qq/.test(word))
    check(await node([...(preload ? [] : ['--no-preload']), ...(each.args ?? [])], each.script), {
      ...each,
      ...(typeof each.says === 'string' && { says: new RegExp(literally(each.says)) }),
    })
  })

  it('is the process that was started, with the project of a folder above its own', async () => {
    const project = mkdtempSync(join(tmpdir(), 'scriptify-script-'))
    const below = join(project, 'src', 'jobs')
    mkdirSync(join(project, 'templates', 'scriptify'), { recursive: true })
    mkdirSync(below, { recursive: true })
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
    const preload = 'export const loadedIn = process.cwd()'
    writeFileSync(join(project, 'templates', 'scriptify', 'scriptify.ts'), preload)
    const child = spawn(process.execPath, [MAIN, 'terminal'], { stdio: 'pipe', cwd: below })
    const said = text(child.stderr)
    child.stdin.end(
      'console.log(JSON.stringify([process.pid, loadedIn, process.cwd(), import.meta.dirname])); while (true);',
    )
    const [printed] = await once(child.stdout, 'data')
    expect(JSON.parse(printed)).toEqual([child.pid, project, below, below])
    child.kill('SIGINT')
    expect([await once(child, 'exit'), await said]).toEqual([[null, 'SIGINT'], ''])
  })

  it('ends as by SIGPIPE, and at once, when the reader of its output has left', async () => {
    const script = 'setInterval(() => console.log(1), 1)'
    const args = [MAIN, 'terminal', '--runtime', 'node', '--no-preload', '--execute', script]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.destroy()
    const said = text(child.stderr)
    expect([await once(child, 'exit'), await said]).toEqual([[141, null], ''])
  })

  it.each([
    { why: 'an --env without =', args: ['--env', 'FOO'], code: 2 },
    { why: 'a name that leaves its folder', args: ['../../tmp/x'], code: 2 },
    { why: 'an unknown service', args: ['no-such-service'], code: 3 },
    { why: 'an unknown folder', args: ['--rootdir', '/nonexistent'], code: 3 },
    { why: 'a preload that is not there', args: ['--preload', 'nope.ts'], code: 3 },
  ])('refuses $why in one line with $code', async ({ args, code }) => {
    const words = ['terminal', '--runtime', 'node', '--no-preload', '--execute', '1', ...args]
    const ended = await runInProcess(words, { env: process.env })
    expect(ended).toMatchObject({ code, stdout: '' })
    expect(ended.stderr.trim().split('\n')).toHaveLength(1)
  })

  it('says what to install when php is missing or too old', async () => {
    const old = join(folder, 'php')
    writeFileSync(old, '#!/bin/sh\nprintf 8.2.1\n', { mode: 0o755 })
    // Like an old php, a program that ends before its first step.
    const ending = join(folder, 'php8.2')
    copyFileSync('/bin/false', ending)
    for (const binary of [join(folder, 'none'), old, ending]) {
      const entry = `SCRIPTIFY_PHP_BINARY=${binary}`
      const ended = await runInProcess(['terminal', '--runtime', 'php', '--env', entry, '--execute', '1'])
      expect(ended).toMatchObject({ code: 5, stdout: '' })
      expect(ended.stderr).toMatch(/install.*8\.3/i)
    }
  })
})

const PHP: Case[] = [
  { why: 'nothing, when it is empty' },
  {
    why: 'a return at its top level',
    script: '<?php\nif (getenv("CONFIRM") !== "yes") return;\necho "DELETED\\n";',
  },
  { why: 'a return in --execute', args: ['--execute', 'if (true) { return; } echo "AFTER";'] },
  {
    why: 'a return in a function, a finally and an included file',
    script:
      'echo f(), include "seven.php", "|";\nfunction f() { try { return 1; } finally { echo "f"; } }\ntry { return; } finally { echo "end"; }\necho "no";',
    stdout: 'f17|end',
  },
  {
    why: 'a syntax error, before anything runs',
    script: '<?php\necho "a";\necho "b" if;',
    code: 1,
    says: /^ParseError: syntax error, unexpected token "if", .*\n {4}at php shell code:3\n$/,
  },
  { why: 'an unfinished statement', script: 'echo "a";\nif (', code: 1, says: 'ParseError' },
  { why: 'a class below its use', script: 'echo A::B;\nclass A { const B = 2; }', stdout: '2' },
  {
    why: 'its folder',
    script: 'echo __dir__, require "seven.php", "__DIR__", A::__DIR__; class A { const __DIR__ = 3; }',
    stdout: '<folder>7__DIR__3',
  },
  { why: 'its own exit code', script: 'function g() { exit(7); } try { g(); } finally { echo 1; }', code: 7 },
  { why: 'exit', script: 'exit', code: 0 },
  { why: 'a message', script: 'die("bye");', stdout: 'bye' },
  { why: 'an exit of other code', script: 'eval("exit(5);");', code: 5 },
  {
    why: 'where a function was called with a wrong argument',
    script: 'declare(strict_types=1);\nfunction f(int $n) {}\nf("1");',
    code: 1,
    says: /, called in php shell code:3\n {4}at php shell code:2\n/,
  },
  {
    why: 'an error that its own handler gets, at its top level too',
    script:
      'set_exception_handler(function ($e) { echo "mine ", $e->getMessage(); }); throw new Exception("z");',
    stdout: 'mine z',
  },
  {
    why: 'a handler that ends it',
    script: 'set_exception_handler(function () { exit(4); }); (function () { throw new Exception("z"); })();',
    code: 4,
  },
  {
    why: 'an error of its handler',
    script: 'set_exception_handler(function () { throw new Exception("again"); }); throw new Exception("z");',
    code: 1,
    says: /again/,
  },
  {
    why: 'no handler that it has put back',
    script: 'set_exception_handler(fn () => 1); restore_exception_handler(); throw new Exception("z");',
    code: 1,
    says: 'Exception: z',
  },
  { why: 'the value of a return at its end', args: ['--execute', 'echo 1; return 2 + 3;'], stdout: '15\n' },
  { why: 'no value of a return without one', args: ['--execute', 'return;'] },
  { why: 'an exit at its end', script: 'register_shutdown_function(fn () => exit(9));', code: 9 },
  {
    why: 'an exception with its cause',
    script:
      'echo "a";\nfunction f() { throw new LogicException("boo", 0, new Exception("why")); }\nf();\necho "b";',
    code: 1,
    stdout: 'a',
    says: /^LogicException: boo\n {4}at php shell code:2\nCaused by Exception: why\n {4}at php shell code:2\n {4}in f\(\) called at php shell code:3\n$/,
  },
  {
    why: 'a fatal error',
    script: 'echo "a";\nclass Q implements Countable {}',
    code: 1,
    stdout: 'a',
    says: /Fatal error: Class Q contains .* in php-shell:\/\/code on line 2/,
  },
  {
    why: 'a warning',
    script: 'echo $x;',
    says: 'Warning: Undefined variable $x in php shell code:1\n',
  },
  { why: 'strict types', script: '<?php\ndeclare(strict_types=1);\nstrlen(5);', code: 1, says: 'TypeError' },
  {
    why: 'a namespace',
    script:
      '<?php\nnamespace A\\B;\nuse DateTime as D;\nfunction k() { return __FUNCTION__; }\necho k(), D::class;',
    stdout: 'A\\B\\kDateTime',
  },
  { why: '300 KB', script: `<?php\n${LONG}echo __LINE__;`, stdout: '22002' },
  {
    why: '300 KB, and its value',
    args: ['--print'],
    script: `<?php\n${'$x = [1, 2];\nfunction_exists("x");\n'.repeat(9000)}[$x[1]]`,
    stdout: '[\n  2,\n]\n',
  },
  {
    why: 'HTML',
    script: '<html>\n<?php $x = 3; ?>\n<b><?= $x ?></b>\n<?php if ($x): ?>\nyes\n<?php endif ?>\n</html>\n',
    stdout: '<html>\n<b>3</b>\nyes\n</html>\n',
  },
  { why: 'text before code', script: 'Hello\n<?php $x = 3; ?>\n<?= $x ?> "<?"\n', stdout: 'Hello\n3 "<?"\n' },
  { why: 'a tag in a string', script: "echo '<?php ', 5;", stdout: '<?php 5' },
  { why: 'HTML after code', script: 'echo 1; ?>\n<b>hi</b>\n<?php echo 2;', stdout: '1<b>hi</b>\n2' },
  { why: 'lines as in its file', script: '#!/usr/bin/php\n<?php\n\necho __LINE__;', stdout: '4' },
  {
    why: 'bytes that are not UTF-8',
    script: Buffer.from('echo "caf\xe9";', 'latin1'),
    code: 2,
    says: 'The script is not UTF-8, and was not run',
  },
  { why: 'a byte order mark', script: '\ufeff<?php echo 1;', stdout: '1' },
  { why: 'no value that nothing prints', script: '1 + 1;\n$x = 5;\n$x' },
  { why: 'a value under --print', args: ['--print'], script: '$a = 1;\n$a +\n 1', stdout: '2\n' },
  {
    why: 'a value behind a block',
    args: ['--execute', 'if (true) { 1; } match (true) { default => 4 }'],
    stdout: '4\n',
  },
  { why: 'no value of an assignment', args: ['--execute', '$a = 1;'] },
  {
    why: 'all statements before the last, which has no value',
    args: ['--execute', '$a = 1; strlen("a"); echo 2;'],
    stdout: '2',
  },
  {
    why: 'the end of a function that runs at its end',
    script: 'register_shutdown_function(function () { usleep(600000); echo "down"; });',
    stdout: 'down',
  },
  {
    why: 'stdin, which --execute may read',
    args: ['--execute', 'fgets(STDIN)'],
    script: 'abc',
    stdout: '"abc"\n',
  },
  {
    why: 'the PATH of --env',
    args: ['--env', 'PATH=/evil', '--execute', "getenv('PATH')"],
    stdout: '"/evil"\n',
  },
  {
    why: 'a preload that throws',
    args: ['--preload', 'bad.php', '--execute', 'echo 1;'],
    code: 1,
    says: 'Exception: boo\n    at <folder>/bad.php:1',
  },
  {
    why: 'a preload that does not parse',
    args: ['--preload', 'broken.php', '--execute', 'echo 1;'],
    code: 1,
    says: 'ParseError',
  },
  {
    why: 'a preload that ends the process',
    args: ['--preload', 'die.php', '--execute', 'echo 1;'],
    code: 1,
    says: 'The preload <folder>/die.php ended the process before the script began',
  },
  {
    why: 'the variables of its preload',
    args: ['--preload', 'names.php', '--execute', '$answer'],
    stdout: '42\n',
  },
]
const FILES = {
  'seven.php': '<?php return 7; echo "no";',
  'bad.php': '<?php throw new Exception("boo");',
  'broken.php': '<?php if (',
  'die.php': '<?php exit(0);',
  'names.php': '<?php $answer = 42;',
}

/** The program and the variables of a case: php is asked for its path, which is that of the machine. */
async function commandOf(
  { args = [] }: Case,
  folder: string,
): Promise<{ words: CommandWords; env: NodeJS.ProcessEnv }> {
  const options = args.includes('--preload') ? args : ['--no-preload', ...args]
  const words = ['terminal', '--runtime', 'php', '--rootdir', folder, ...options]
  let command: { words: CommandWords; env: NodeJS.ProcessEnv } | undefined
  const context = {
    env: { PATH: `${folder}:${process.env.PATH}` },
    stdin: Readable.from([]),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    async replace(words: CommandWords, env: NodeJS.ProcessEnv) {
      command = { words, env }
      return 0
    },
  }
  await runCli(await createCli({ command: 'terminal', context }), ['node', 'scriptify', ...words], context)
  if (command === undefined) throw new Error(`Nothing runs php: ${context.stderr.read()}`)
  return command
}

const quote = (word: string) => `'${word.replaceAll("'", "'\\''")}'`

/** Runs programs in the machine, one after the other, with what is piped into each. */
async function runAll(
  machine: PhpMachine,
  commands: { words: CommandWords; env: NodeJS.ProcessEnv; input: string | Buffer }[],
): Promise<Ended[]> {
  const script = commands.map(({ words, env, input }) => {
    const variables = Object.entries(env).map(([name, value]) => quote(`${name}=${value}`))
    const command = ['timeout 30 env -i', ...variables, ...words.map(quote)].join(' ')
    const base64 = Buffer.from(input).toString('base64')
    return `base64 -d <<'END' >in\n${base64}\nEND\n${command} <in >out 2>err\necho $?; base64 -w0 out; echo; base64 -w0 err; echo`
  })
  const child = spawn('docker', ['exec', '-i', '-w', '/tmp', machine.getId(), 'sh', '-s'])
  child.stdin.end(script.join('\n'))
  const [written] = await Promise.all([text(child.stdout), once(child, 'close')])
  const lines = written.split('\n')
  const decode = (line = '') => Buffer.from(line, 'base64').toString()
  return commands.map((_, index) => {
    const [code, stdout, stderr] = lines.slice(3 * index)
    return { code: Number(code), stdout: decode(stdout), stderr: decode(stderr) }
  })
}

describe.skipIf(!(await hasDocker()))('a php script', () => {
  const ended: Ended[] = []
  let machine: PhpMachine
  // The machine has this project at its own path.
  const folder = mkdtempSync(join(ROOT, 'node_modules', '.cache', 'scriptify-script-'))
  beforeAll(async () => {
    for (const [name, source] of Object.entries(FILES)) writeFileSync(join(folder, name), source)
    const probe = '#!/bin/sh\nprintf "\\n/usr/bin/php\\t8.4.0\\t80400\\n"\n'
    writeFileSync(join(folder, 'php'), probe, { mode: 0o755 })
    machine = await findPhpMachine()
    const commands = PHP.map(async (each) => ({
      ...(await commandOf(each, folder)),
      input: each.script ?? '',
    }))
    ended.push(...(await runAll(machine, await Promise.all(commands))))
  })
  afterAll(async () => {
    rmSync(folder, { recursive: true })
  })

  it.each(PHP.map((each, index) => ({ ...each, index })))('means with $why what php means', (each) => {
    const inFolder = (text: string) => text.replaceAll('<folder>', folder)
    const says = typeof each.says === 'string' ? new RegExp(literally(inFolder(each.says))) : each.says
    check(ended[each.index] as Ended, { ...each, stdout: inFolder(each.stdout ?? ''), ...(says && { says }) })
  })
})
