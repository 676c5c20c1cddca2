import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { StartedTestContainer } from 'testcontainers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runInProcess } from './run-in-process.ts'
import { hasDocker, MAIN, ROOT, startPhpMachine } from './terminal-docker.ts'

interface Ended {
  code: number
  stdout: string
  stderr: string
}

/** Runs a program to its end, with input on its stdin. */
const run = (file: string, args: string[], input: string, env: NodeJS.ProcessEnv = {}): Promise<Ended> =>
  new Promise((resolve) => {
    const child = execFile(
      file,
      args,
      { cwd: ROOT, env: { ...process.env, ...env } },
      (error, stdout, stderr) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr })
      },
    )
    child.stdin?.end(input)
  })

const node = (args: string[], input = '', env: NodeJS.ProcessEnv = {}) =>
  run(process.execPath, [MAIN, 'terminal', '--runtime', 'node', '--no-preload', ...args], input, env)

/**
 * Exits after a statement; the terminal, which is stopped until then, reads the answer and the exit at once. What lets it go on
 * first waits until it is stopped.
 */
const EXIT_WITH_ANSWER = `
const goOn = 'until grep -q stopped /proc/' + process.ppid + '/status; do sleep 0.05; done; sleep 0.5; kill -CONT ' + process.ppid
require('node:child_process').spawn('sh', ['-c', goOn], { detached: true })
{ process.kill(process.ppid, 'SIGSTOP'); setImmediate(() => process.exit(6)) }
console.log('not run')`

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe.concurrent('a node script', () => {
  beforeAll(() => writeFileSync('/tmp/scriptify-leave.cjs', 'process.exit(0)'))

  it('prints what its statements print, and no value and no prompt', async () => {
    const statements = [
      'if (false) {\n  1\n}\nelse {\n  console.log("other")\n}',
      'interface A {\n a: 1 }\nfunction f(a: A): A {\n  return a\n}\nconsole.log(f({ a: 1 }))',
      // A later statement may handle a rejection.
      'const late = Promise.reject(new Error("r"))\nawait late.catch(() => {})',
      'setTimeout(() => {}, 1)\n1 + 1\n"a"',
    ]
    const ended = await node([], statements.join('\n'))
    expect(ended).toEqual({ code: 0, stdout: 'other\n{ a: 1 }\n', stderr: '' })
  })

  it('may be empty', async () => {
    expect(await node([])).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  it.each([
    { why: 'under --print', args: ['--print'], script: '1\n2', stdout: '2\n' },
    {
      why: 'of --execute, for which --env is literal',
      args: ['--env', 'A=x+y=%41 é$HOME', '--execute', '1; process.env.A'],
      script: '',
      stdout: "'x+y=%41 é$HOME'\n",
    },
    { why: 'unless it is a timer', args: ['--execute', 'setTimeout(() => {}, 1)'], script: '', stdout: '' },
  ])('prints the value of its last statement $why', async ({ args, script, stdout }) => {
    expect(await node(args, script)).toEqual({ code: 0, stdout, stderr: '' })
  })

  it('ends when nothing of it is pending', async () => {
    const script =
      'process.on("exit", () => console.log("exit"))\nsetTimeout(() => console.log("later"), 300)'
    expect(await node([], script)).toEqual({ code: 0, stdout: 'later\nexit\n', stderr: '' })
  })

  it.each([
    { why: 'a rejection that nothing handles', script: 'Promise.reject(new Error("r"))', says: 'Error: r' },
    { why: 'an error in a timer', script: 'setTimeout(() => { throw new Error("t") }, 1)', says: 'Error: t' },
    { why: 'a wait without an end', script: 'await new Promise(() => {})', says: 'nothing settles' },
  ])('ends with 1 after $why', async ({ script, says }) => {
    const { code, stdout, stderr } = await node(['--execute', script])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(says)
    expect(stderr).not.toContain('terminal/node')
  })

  it('ends with 1 at the first failed statement', async () => {
    const { code, stdout, stderr } = await node(
      [],
      'console.log("a")\nthrow new Error("boo")\nconsole.log("b")',
    )
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'a\n' })
    expect(stderr).toContain('Error: boo\n    at node-shell-code:2:7')
  })

  it('runs up to the statement that does not parse', async () => {
    const { code, stdout, stderr } = await node([], 'console.log("a")\nlet x = ;\nconsole.log("b")')
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'a\n' })
    expect(stderr).toContain('SyntaxError')
  })

  it('goes on under --keep-going, and still ends with 1', async () => {
    const { code, stdout } = await node(['--keep-going'], 'throw 1\nconsole.log("b")')
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'b\n' })
  })

  it('evaluates --execute, which may read stdin', async () => {
    const script = '(await import("node:fs")).readFileSync(0, "utf8")'
    expect(await node(['--execute', script], 'abc')).toMatchObject({ code: 0, stdout: "'abc'\n" })
  })

  it.each([
    { why: 'its own exit code', script: 'process.exit(7)', code: 7 },
    // By then the thread that waits for Ctrl-C has begun to wait.
    {
      why: 'an exit after a wait',
      script: 'await new Promise((r) => setTimeout(r, 500))\nprocess.exit(8)',
      code: 8,
    },
    { why: 'exit', script: 'exit', code: 0 },
    { why: 'an exit in a condition', script: 'if (true) { process.exit(5) }', code: 5 },
    { why: 'an exit in a timer', script: 'setTimeout(() => process.exit(6), 1)', code: 6 },
    { why: 'an exit that the terminal reads together with an answer', script: EXIT_WITH_ANSWER, code: 6 },
    { why: 'an exit of a function of the script', script: '(() => process.exit(0))(); throw 1', code: 0 },
    { why: 'process.exitCode', script: 'process.exitCode = 4', code: 4 },
    {
      why: 'the exit of a library',
      script: 'import { createRequire } from "node:module"\ncreateRequire("/")("/tmp/scriptify-leave.cjs")',
      code: 1,
    },
    { why: 'an unfinished statement', script: 'if (', code: 1 },
    { why: 'the death of its process', script: 'process.kill(process.pid, "SIGKILL")', code: 1 },
  ])('ends with $code for $why', async ({ script, code }) => {
    expect((await node([], script)).code).toBe(code)
  })

  it('ends as by SIGPIPE, and at once, when the reader of its values has left', async () => {
    const args = [
      MAIN,
      'terminal',
      '--runtime',
      'node',
      '--no-preload',
      '--execute',
      'setInterval(() => console.log(1), 1)',
    ]
    const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.destroy()
    const said = text(child.stderr)
    expect([await once(child, 'exit'), await said]).toEqual([[141, null], ''])
  })

  it('fails when its last value cannot be written', async () => {
    const script = `"$0" ${MAIN} terminal --runtime node --no-preload --execute 1 > /dev/full`
    expect(await run('sh', ['-c', script, process.execPath], '')).toMatchObject({
      code: 1,
      stderr: 'ENOSPC: no space left on device, write\n',
    })
  })

  it('shows no warning of Node about a project without a module type', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'scriptify-typeless-'))
    writeFileSync(join(folder, 'package.json'), '{}')
    writeFileSync(join(folder, 'a.ts'), 'export const a: number = 1')
    const script = 'import { a } from "./a.ts"\na'
    const ended = await node(['--rootdir', folder, '--execute', script])
    expect(ended).toEqual({ code: 0, stdout: '1\n', stderr: '' })
  })

  it.for([
    { signal: 'SIGINT', code: 130 },
    { signal: 'SIGTERM', code: 143 },
    { signal: 'SIGHUP', code: 129 },
  ] as const)(
    'ends at $signal with its endless statement, with $code',
    async ({ signal, code }, { expect }) => {
      const script = 'console.log(process.pid); while (true);'
      const args = [MAIN, 'terminal', '--runtime', 'node', '--no-preload', '--execute', script]
      const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
      const said = text(child.stderr)
      const [pid] = await once(child.stdout, 'data')
      child.kill(signal)
      expect(await once(child, 'exit')).toEqual([code, null])
      expect(await said).toBe('')
      await expect.poll(() => isThere(Number(pid))).toBe(false)
    },
  )

  it.for([
    { signal: 'SIGINT', code: 130 },
    { signal: 'SIGTERM', code: 143 },
  ] as const)(
    'ends at $signal with its endless preload, with $code',
    async ({ signal, code }, { expect }) => {
      const folder = mkdtempSync(join(tmpdir(), 'scriptify-preload-'))
      writeFileSync(join(folder, 'endless.ts'), 'console.log(process.pid); while (true);')
      const args = [MAIN, 'terminal', '--rootdir', folder, '--preload', 'endless.ts', '--execute', '1']
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
      const said = text(child.stderr)
      const [pid] = await once(child.stdout, 'data')
      child.kill(signal)
      expect([await once(child, 'exit'), await said]).toEqual([[code, null], ''])
      await expect.poll(() => isThere(Number(pid))).toBe(false)
    },
  )

  it.each([
    { why: 'an --env without =', args: ['--env', 'FOO'], code: 2 },
    { why: 'a name that leaves its folder', args: ['../../tmp/x'], code: 2 },
    { why: 'an unknown service', args: ['no-such-service'], code: 3 },
    { why: 'an unknown folder', args: ['--rootdir', '/nonexistent'], code: 3 },
    { why: 'a preload that is not there', args: ['--preload', 'nope.ts'], code: 3 },
    { why: 'a sandbox that no preload has', args: ['--sandbox'], code: 2 },
    { why: 'to write in a sandbox', args: ['--sandbox', '--write'], code: 2 },
  ])('refuses $why in one line with $code', async ({ args, code }) => {
    // The worker writes to the output of this process, and none of these comes to write.
    const words = ['terminal', '--runtime', 'node', '--no-preload', ...args, '--execute', '1']
    const ended = await runInProcess(words, { env: process.env })
    expect(ended).toMatchObject({ code, stdout: '' })
    expect(ended.stderr.trim().split('\n')).toHaveLength(1)
  })

  it('brings its own preload into any project, and shows no frames of it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'scriptify-preload-'))
    const words = [MAIN, 'terminal', '--runtime', 'node', '--rootdir', folder]
    const shown = await run(
      process.execPath,
      [...words, '--sandbox', '--execute', 'executor.isSandboxed'],
      '',
    )
    expect(shown).toEqual({ code: 0, stdout: 'true\n', stderr: '' })
    const refused = await run(process.execPath, [...words, '--execute', 'qq("select 1")'], '', {
      DATABASE_URL: 'redis://x',
    })
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toMatch(/^\[Error: DATABASE_URL must begin with [^\n]*\]\n$/)
    const failed = await run(process.execPath, [...words, '--execute', 'uuid_to_bin("x")'], '')
    expect(failed).toEqual({
      ...{ code: 1, stdout: '', stderr: "TypeError: 'x' is not a UUID\n    at node-shell-code:1:1\n" },
    })
  })

  it('makes exported names of the preload global, and tells where it failed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'scriptify-preload-'))
    writeFileSync(join(folder, 'good.ts'), 'export const answer: number = 42')
    writeFileSync(join(folder, 'bad.ts'), 'throw new Error("boo")')
    const args = ['terminal', '--rootdir', folder, '--execute', '1 + (globalThis.answer ?? 0)']
    expect(await run(process.execPath, [MAIN, ...args, '--preload', 'good.ts'], '')).toMatchObject({
      stdout: '43\n',
    })
    const bad = await run(process.execPath, [MAIN, ...args, '--preload', 'bad.ts'], '')
    expect(bad).toMatchObject({ code: 1, stdout: '' })
    expect(bad.stderr).toMatch(/boo[\s\S]*bad\.ts:1/)
  })

  it.each([
    {
      what: 'ends the process',
      source: 'process.kill(process.pid, "SIGKILL")',
      args: ['--execute', '1 + 1'],
      script: '',
    },
    {
      what: 'lets no new process start',
      source: `import { existsSync, writeFileSync } from 'node:fs'
       if (existsSync('started')) process.kill(process.pid, 'SIGKILL')
       writeFileSync('started', '')`,
      args: [],
      script: 'process.kill(process.pid, "SIGKILL"); await new Promise(() => {})\n1 + 1',
    },
  ])('says so in one line when the preload $what', async ({ source, args, script }) => {
    const folder = mkdtempSync(join(tmpdir(), 'scriptify-preload-'))
    const preload = join(folder, 'die.ts')
    writeFileSync(preload, source)
    const words = [MAIN, 'terminal', '--rootdir', folder, '--preload', 'die.ts', ...args]
    expect(await run(process.execPath, words, script)).toEqual({
      code: 1,
      stdout: '',
      stderr: `The preload ${preload} ended the process (it was ended by SIGKILL)\n`,
    })
  })

  it('says what to install when php is missing or too old', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'scriptify-php-'))
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

describe.skipIf(!(await hasDocker())).concurrent('a php script', () => {
  let machine: StartedTestContainer
  beforeAll(async () => {
    machine = await startPhpMachine()
  })
  afterAll(async () => {
    await machine?.stop()
  })
  const php = (args: string[], input = '') =>
    run(
      'docker',
      ['exec', '-i', machine.getId(), 'node', MAIN, 'terminal', '--runtime', 'php', '--no-preload', ...args],
      input,
    )

  it.each([
    { why: 'no value that nothing prints', script: '1 + 1\n"a"\n$x = 5;\n$x', stdout: '' },
    {
      why: 'HTML',
      script: '<html>\n<?php $x = 3; ?>\n<b><?= $x ?></b>\n<?php if ($x): ?>\nyes\n<?php endif ?>\n</html>\n',
      stdout: '<html>\n<b>3</b>\nyes\n</html>\n',
    },
    {
      why: 'text before code',
      script: 'Hello\n<?php $x = 3; ?>\n<?= $x ?> "<?"\n',
      stdout: 'Hello\n3 "<?"\n',
    },
    { why: 'a tag in a string', script: "echo '<?php ', 5;", stdout: '<?php 5' },
    { why: 'HTML after code', script: 'echo 1; ?>\n<b>hi</b>\n<?php echo 2;', stdout: '1<b>hi</b>\n2' },
    { why: 'lines as in its file', script: '#!/usr/bin/php\n<?php\n\necho __LINE__;', stdout: '4' },
    { why: 'a block and its else', script: 'if (false) {\n  echo 1;\n}\nelse {\n  echo 2;\n}', stdout: '2' },
    { why: 'the other syntax', script: 'if (1):\n echo 2;\nelse:\n echo 3;\nendif;', stdout: '2' },
    { why: 'a heredoc', script: 'echo <<<X\n  a; }\n  X;', stdout: 'a; }' },
    {
      why: 'a chain over lines',
      script: '(new DateTime("2020-01-01"))\n  ->format("Y")',
      stdout: '',
    },
    { why: 'do and while', script: 'do {\n echo 1;\n}\nwhile (false);', stdout: '1' },
    {
      why: 'try and catch',
      script: 'try {\n throw new Exception;\n}\ncatch (Exception) {\n echo 1;\n}',
      stdout: '1',
    },
    {
      why: 'a file with an opening tag',
      script: '<?php\nfunction f() {\n return 3;\n}\necho f();',
      stdout: '3',
    },
    { why: 'quotes in comments', script: "// don't\n# it's {\necho 1; /* } ' */", stdout: '1' },
  ])('prints $why and no prompt', async ({ script, stdout }) => {
    expect(await php([], script)).toEqual({ code: 0, stdout, stderr: '' })
  })

  it('ends when its last function has ended', async () => {
    const script = 'register_shutdown_function(function () { usleep(600000); echo "down"; });'
    expect(await php([], script)).toEqual({ code: 0, stdout: 'down', stderr: '' })
  })

  it.each([
    { why: 'does not parse', source: '<?php if (', says: 'ParseError' },
    { why: 'throws', source: '<?php throw new Exception("boo");', says: 'Exception: boo' },
  ])('is not run when the autoloader $why', async ({ why, source, says }) => {
    const file = `/tmp/autoload-${why.replaceAll(' ', '-')}.php`
    await machine.copyContentToContainer([{ content: source, target: file }])
    const env = ['-e', `SCRIPTIFY_BOOTLOADER=${file}`]
    const words = ['node', MAIN, 'terminal', '--runtime', 'php', '--no-preload', '--execute', 'echo 1;']
    const ended = await run('docker', ['exec', ...env, machine.getId(), ...words], '')
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toContain(says)
  })

  it('ends with 1 at the first failed statement, and says where', async () => {
    const { code, stdout, stderr } = await php([], 'echo "a";\nthrow new Exception("boo");\necho "b";')
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'a' })
    expect(stderr).toContain('Exception: boo\n    at php shell code:2')
  })

  it('names no file of the terminal in what php itself says', async () => {
    const script =
      'function f(int $x) {}\ntry { f("a"); } catch (TypeError $e) { echo $e; }\nstr_repeat("x", PHP_INT_MAX);'
    const { code, stdout, stderr } = await php([], script)
    expect(code).toBe(1)
    expect(stdout).toContain('called in php-shell://code on line 2')
    expect(stderr).toMatch(/^Fatal error: .* in php-shell:\/\/code on line 3$/m)
    expect(stdout + stderr).not.toContain("eval()'d code")
  })

  it.each([
    { why: 'its own exit code', script: 'exit(7);', code: 7 },
    { why: 'exit', script: 'exit', code: 0 },
    { why: 'a message', script: 'die("bye");', code: 0 },
    { why: 'an exit in a condition', script: 'if (true) { exit(5); }', code: 5 },
    { why: 'an exit as an expression', script: 'false or exit(status: 4);', code: 4 },
    {
      why: 'an exit of a function of the script',
      script: '(function () { exit(0); })(); throw new Exception;',
      code: 0,
    },
    { why: 'the exit of a library', script: 'eval("exit(0);");', code: 1 },
    { why: 'an exit at its end', script: 'register_shutdown_function(fn () => exit(9));', code: 9 },
    {
      why: 'an error at its end',
      script: 'register_shutdown_function(fn () => throw new Exception);',
      code: 1,
    },
    { why: 'methods named exit', script: 'class A { static function exit() {} } A::exit();', code: 0 },
    { why: 'an unfinished statement', script: 'if (', code: 1 },
    { why: 'a fatal error', script: 'class Q implements Countable {}', code: 1 },
  ])('ends with $code for $why', async ({ script, code }) => {
    expect((await php([], script)).code).toBe(code)
  })

  it.each([
    { why: 'an exit', code: 'exit(0);', reason: 'exit() was called' },
    {
      why: 'a fatal error',
      code: 'class Q implements Countable {}',
      reason: 'fatal error: Class Q contains',
    },
    { why: 'a signal', code: 'posix_kill(getmypid(), SIGKILL);', reason: 'it' },
  ])(
    'names the file that ends the process by $why before the first prompt',
    async ({ why, code, reason }) => {
      const file = `die-${why.replaceAll(' ', '-')}.php`
      await machine.copyContentToContainer([{ content: `<?php ${code}`, target: `/tmp/${file}` }])
      const words = ['node', MAIN, 'terminal', '--runtime', 'php', '--rootdir', '/tmp', '--execute', '1 + 1']
      const open = (env: string, ...more: string[]) =>
        run('docker', ['exec', '-i', '-e', env, machine.getId(), ...words, ...more], '')
      for (const [what, ended] of [
        ['preload', await open('A=', '--preload', file)],
        ['autoloader', await open(`SCRIPTIFY_BOOTLOADER=${file}`, '--no-preload')],
        ['preload', await open('A=', '--preload', file, '--no-fork')],
      ] as const) {
        expect(ended).toMatchObject({ code: 1, stdout: '' })
        expect(ended.stderr).toContain(`The ${what} /tmp/${file} ended the process (${reason}`)
        expect(ended.stderr).not.toMatch(/restored|worker/)
      }
    },
  )

  it.each([
    { signal: 'INT', code: 130 },
    { signal: 'TERM', code: 143 },
    { signal: 'HUP', code: 129 },
  ])('ends at SIG$signal with its endless statement, with $code', async ({ signal, code }) => {
    const script = `
      node ${MAIN} terminal --runtime php --no-preload --execute 'echo getmypid(), PHP_EOL; while (true);' >out-$1 &
      terminal=$!
      until grep -sq . out-$1; do sleep 0.05; done
      kill -$1 $terminal
      (sleep 20; kill -KILL $terminal) >/dev/null 2>&1 &
      wait $terminal
      echo $?
      isAlive() { grep '^State:.[RSD]' /proc/$(cat out-$1)/status 2>&1; }
      for look in $(seq 100); do isAlive $1 >/dev/null || exit; sleep 0.1; done
      isAlive $1`
    const words = ['exec', '-w', '/tmp', machine.getId(), 'sh', '-c', script, 'sh', signal]
    // Soon its process is gone, or is a zombie that nobody has reaped.
    expect(await run('docker', words, '')).toMatchObject({ stdout: `${code}\n`, stderr: '' })
  })

  it('evaluates --execute, which may read stdin', async () => {
    expect(await php(['--execute', 'fgets(STDIN)'], 'abc')).toMatchObject({ code: 0, stdout: '"abc"\n' })
  })

  it('finds php by the PATH of its caller', async () => {
    const { code, stdout } = await php(['--env', 'PATH=/evil', '--execute', "getenv('PATH')"])
    expect({ code, stdout }).toEqual({ code: 0, stdout: '"/evil"\n' })
  })

  it("loads a service's environment, over which --env wins", async () => {
    await machine.exec([
      'sh',
      '-c',
      `mkdir -p /etc/scriptify && printf 'A="a \\\\$b"\\nB="b"\\n' > /etc/scriptify/importer.env`,
    ])
    const { stdout } = await php(['importer', '--env', 'B=c', '--execute', "[getenv('A'), getenv('B')]"])
    expect(stdout).toBe('[\n  "a \\$b",\n  "c",\n]\n')
  })
})
