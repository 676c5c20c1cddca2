import type { Database } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { sharedServer } from '@latchkey/test-support/servers/shared-server.ts'
import type { SharedServer } from '@latchkey/test-support/servers/shared-servers.ts'
import { waitFor } from '@latchkey/test-support/wait-for.ts'
import { afterAll, beforeAll, describe, expect, it, test, vi } from 'vitest'
import { findPhpMachine, HOST, hasDocker, MAIN, type PhpMachine, ROOT } from './terminal-docker.ts'
import { startTypist } from './terminal-pty.ts'
import { watchScreen } from './terminal-screen.ts'

const CTRL_C = '\x03'
const prompt = /php[>*] /

describe.skipIf(!(await hasDocker())).concurrent('the php terminal', () => {
  let machine: PhpMachine

  beforeAll(async () => {
    machine = await findPhpMachine()
  })

  const openTerminal = async (
    args: string[] = ['--no-preload'],
    env: Record<string, string | undefined> = {},
    size: { cols?: number; rows?: number } = {},
  ) => {
    const settings = Object.entries({ NO_COLOR: '1', TERM: 'xterm', ...env }).flatMap(([name, value]) =>
      value === undefined ? [] : ['-e', `${name}=${value}`],
    )
    const typist = startTypist(
      'docker',
      ['exec', '-it', ...settings, machine.getId(), 'node', MAIN, 'terminal', '--runtime', 'php', ...args],
      { prompt, cwd: ROOT, ...size },
    )
    const banner = await typist.see(/php> $/)
    return Object.assign(typist, { banner })
  }

  describe('used by one case after the other', { concurrent: false }, () => {
    let opened: ReturnType<typeof openTerminal> | undefined
    const close = async () => {
      const terminal = await opened
      opened = undefined
      await terminal?.[Symbol.asyncDispose]()
    }
    afterAll(close)
    /** A test with a terminal in which nothing is declared; each case that succeeds leaves an empty prompt. */
    const it = test.extend<{ terminal: Awaited<ReturnType<typeof openTerminal>> }>({
      async terminal({ onTestFailed }, use) {
        onTestFailed(close)
        if (opened !== undefined) await (await opened).enter('.clear')
        opened ??= openTerminal()
        await use(await opened)
      },
    })

    it('shows values, keeps state, imports and namespaces', async ({ terminal }) => {
      expect(await terminal.enter('$x = 5;')).not.toContain('=>')
      expect(await terminal.enter('$x * 2')).toContain('=> 10')
      expect(await terminal.enter('$a = 1; $b = 2; $a + $b')).toContain('=> 3')
      await terminal.enter('use DateTimeImmutable as D;')
      // The last statement of an entry needs no semicolon.
      await terminal.enter('use function strtoupper as up')
      expect(await terminal.enter("up((new D('2020-01-02'))->format('D'))")).toContain('=> "THU"')
      expect(await terminal.enter('function half(int $n) {')).toMatch(/php\* $/)
      expect(await terminal.enter('return $n / 2; }')).toMatch(/php> $/)
      expect(await terminal.enter('half(4)')).toContain('=> 2')
      expect(await terminal.enter('declare(strict_types=1);')).not.toContain('Error')
      expect(await terminal.enter("half('4')")).toContain('TypeError')
      // A statement that does not parse has imported nothing.
      expect(await terminal.enter('use ArrayObject as Wrong; $x = ;')).toContain('ParseError')
      expect(await terminal.enter('new Wrong')).toContain('Class "Wrong" not found')
      expect(await terminal.enter('null')).toContain('=> null')
      expect(await terminal.enter('echo "hi"')).toContain('hi')
      expect(await terminal.enter('$undefined')).toContain(
        'Warning: Undefined variable $undefined in php shell code:1',
      )
    })

    it('survives a death whose copy takes its time, as on a busy machine', async ({ terminal }) => {
      await terminal.enter('$executor = new class { function reconnect() { usleep(1_500_000); } };')
      await terminal.enter('$kept = fn () => 42;')
      for (let deaths = 0; deaths < 2; deaths++) {
        expect(await terminal.enter('posix_kill(getmypid(), SIGKILL);')).toContain('ended the process')
        expect(await terminal.enter('$kept()')).toContain('=> 42')
      }
    })

    it('survives two deaths with no statement between them', async ({ terminal }) => {
      await terminal.enter('$kept = fn () => 42;')
      for (let deaths = 0; deaths < 2; deaths++)
        expect(await terminal.enter('posix_kill(getmypid(), SIGKILL);')).toContain('ended the process')
      expect(await terminal.enter('$kept()')).toContain('=> 42')
    })

    it('starts again after a restored process that had no copy has died', async ({ terminal }) => {
      await terminal.enter('posix_kill(getmypid(), SIGKILL);')
      terminal.type("ini_set('memory_limit', -1); $large = str_repeat('x', 1 << 30);\r")
      // The answer comes before the attempt to copy the process, and so may the prompt.
      await terminal.see(/no longer protected by a copy[\s\S]*php> $/)
      expect(await terminal.enter('posix_kill(getmypid(), SIGKILL);')).toContain('started again')
      expect(await terminal.enter('6 * 7')).toContain('=> 42')
    })

    it('survives the death of its idle process', async ({ terminal }) => {
      await terminal.enter('$kept = fn () => 42;')
      const [, pid = ''] = /=> (\d+)/.exec(await terminal.enter('getmypid()')) ?? []
      await machine.exec(['kill', '-9', pid])
      await terminal.see(/restored[\s\S]*php> $/)
      expect(await terminal.enter('$kept()')).toContain('=> 42')
    })

    const ENDLESS = [
      { why: 'a loop', line: 'while (true);' },
      { why: 'a sleep', line: 'sleep(60);' },
      { why: 'endless output', line: "while (true) echo 'x', PHP_EOL;" },
    ]
    it('stops what runs at one Ctrl-C, and keeps its state', async ({ terminal }) => {
      await terminal.enter('$kept = 41;')
      for (const { why, line } of ENDLESS) {
        terminal.type(`echo 'be', 'gun'; ${line}\r`)
        await terminal.see('begun')
        terminal.type(CTRL_C)
        await terminal.see(/Interrupted\s+php> $/)
        expect(await terminal.enter('$kept + 1'), why).toContain('=> 42')
      }
    })

    it('stops by force what catches the first Ctrl-C, at the second', async ({ terminal }) => {
      await terminal.enter('$kept = 41;')
      // The text is printed inside the try, so that Ctrl-C can be caught once it is shown.
      terminal.type("while (true) { try { echo 'be', 'gun'; sleep(60); } catch (Throwable $t) {} }\r")
      await terminal.see('begun')
      terminal.type(CTRL_C)
      await terminal.see('Ctrl-C again')
      terminal.type(CTRL_C)
      await terminal.see(/ended the process[\s\S]*php> $/)
      expect(await terminal.enter('$kept + 1')).toContain('=> 42')
    })

    it('shows bounded values, binary and cycles', async ({ terminal }) => {
      expect((await terminal.enter('range(1, 1000000)')).length).toBeLessThan(5000)
      expect((await terminal.enter('str_repeat("x", 10000000)')).length).toBeLessThan(5000)
      expect(await terminal.enter('$o = new stdClass; $o->o = $o; $o')).toContain('…}')
      expect(await terminal.enter('"\\xff\\xfe"')).toContain('binary(2) 0xfffe')
    })

    it('takes a paste as one unit, tabs and all, and completes', async ({ terminal }) => {
      terminal.type('\x1b[200~if (false) {\n\techo 1;\n}\nelse {\n\techo "oth", "er";\n}\x1b[201~')
      await terminal.see(/"er";\s+php\* \}$/)
      terminal.type('\r')
      expect(await terminal.see(/other\s+php> $/)).not.toContain('Error')
      await terminal.enter('$date = new DateTime;')
      await terminal.complete('$date->getTimest', 'getTimestamp(')
    })

    const CALLS = [
      { why: 'a function', line: "str_replace(search: 'a', rep", completes: 'replace: ' },
      { why: 'a function of the session', line: 'greet(gre', completes: 'greeting: ' },
      { why: 'a constructor', line: 'new DateTimeImmutable(tim', completes: 'timezone: ' },
      { why: 'a method', line: '$date->add(inter', completes: 'interval: ' },
      { why: 'a static method', line: 'DateTimeImmutable::createFromFormat(form', completes: 'format: ' },
      { why: 'a closure', line: '$closure(num', completes: 'number: ' },
      { why: 'a call in a call', line: 'strtoupper(greet(gre', completes: 'greeting: ' },
    ]
    const NAMES = [
      { line: 'DateTimeImmutable::AT', completes: 'DateTimeImmutable::ATOM' },
      { line: 'DateTimeImmutable::createFromI', completes: 'createFromInterface(' },
      { line: '$dat', completes: '$date' },
      { line: '$date::createFromI', completes: 'createFromInterface(' },
      { line: '\\DateTimeImm', completes: '\\DateTimeImmutable' },
      { line: 'PHP_VERSION_I', completes: 'PHP_VERSION_ID' },
    ]
    it('completes names, and the named arguments of a call', async ({ terminal }) => {
      await terminal.enter('function greet(string $who, string $greeting) { return "$greeting $who"; }')
      await terminal.enter('$date = new DateTimeImmutable(); $closure = fn (int $number) => $number;')
      for (const { line, completes } of CALLS) {
        // Other names may begin alike: the second Tab lists them all.
        await terminal.complete(line, completes)
        terminal.type(CTRL_C)
        await terminal.see(/php> $/)
      }
      for (const { line, completes } of NAMES) {
        await terminal.complete(line, completes)
        terminal.type(CTRL_C)
        await terminal.see(/php> $/)
      }
      // Typed as text it would be another word's beginning: an array's element is no argument.
      await terminal.complete('greet([gre')
      terminal.type('#')
      expect(await terminal.see('#')).not.toContain('greeting: ')
      terminal.type(CTRL_C)
      await terminal.see(/php> $/)
    })

    it('names what a reload loses', async ({ terminal }) => {
      await terminal.enter('$kept = 4; $cycle = new stdClass; $cycle->self = $cycle; $closure = fn () => 1;')
      await terminal.enter("$file = fopen('/dev/null', 'r'); $nested = [(object) ['file' => $file]];")
      await terminal.enter("$closed = fopen('/dev/null', 'r'); fclose($closed);")
      expect(await terminal.enter('.reload')).toMatch(
        /Could not be restored: closure, file, nested, closed\n+Reloaded/,
      )
      expect(await terminal.enter('$kept + 1')).toContain('=> 5')
      expect(await terminal.enter('$cycle->self === $cycle')).toContain('=> true')
      expect(await terminal.enter('.clear')).not.toContain('Could not be restored')
    })
  })

  it('copies its process after what may change it, and not for a question', async () => {
    const program = `
      [$near, $far] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
      $worker = proc_open(['php', $argv[1]], [3 => $far], $pipes);
      foreach (json_decode($argv[2]) as $id => $request) {
          fwrite($near, json_encode(['id' => $id + 1] + (array) $request) . "\\n");
          for ($copies = 0; ($message = json_decode(fgets($near)))->id !== $id + 1;) $copies += $message->type === 'protected';
          echo $request->type, ' ', $copies, "\\n";
      }
      proc_terminate($worker, SIGKILL);`
    const question = { type: 'check', code: '1' }
    const requests = [
      ...[{ type: 'start', declarations: [], colors: false }, question, question],
      ...[{ type: 'complete', line: '$a' }, { type: 'list' }, { type: 'snapshot' }, question],
      ...[{ type: 'eval', code: '$a = 1;' }, question, question],
    ]
    const worker = `${ROOT}/services/scriptify/src/terminal/php/terminal-worker.php`
    const { output } = await machine.exec(['php', '-r', program, worker, JSON.stringify(requests)])
    expect(output.trim().split('\n')).toEqual([
      ...['start 1', 'check 1', 'check 0', 'complete 0', 'list 0', 'snapshot 0', 'check 0'],
      ...['eval 0', 'check 1', 'check 0'],
    ])
  })

  const ENDS = [
    { why: 'a parse error', line: '$a = ;', says: 'ParseError' },
    { why: 'an exception', line: "throw new Exception('boo');", says: 'Exception: boo' },
    { why: 'a fatal error', line: 'class Q implements Countable {}', says: 'ended the process' },
    {
      why: 'a function declared again',
      line: 'function twice() {}',
      says: 'already declared; choose another name, or .clear first',
    },
    { why: 'a class declared again', line: 'class Kept {}', says: 'ended the process' },
    { why: 'break outside a loop', line: 'break;', says: "not in the 'loop'" },
    { why: 'exit in a library, code 0', line: '(new Kept)->leave(0)', says: 'exit() was called' },
    { why: 'exit in a library, code 3', line: '(new Kept)->leave(3)', says: 'exit() was called' },
    { why: 'memory exhaustion', line: '$s = str_repeat("x", 1 << 30);', says: 'memory size' },
    {
      why: 'memory exhaustion by small pieces',
      line: 'for (;;) $all[] = str_repeat("x", 999);',
      says: 'memory size',
    },
    {
      why: 'endless recursion',
      line: '(function () { $f = function () use (&$f) { return $f(); }; return $f(); })()',
      says: 'memory size',
    },
    { why: 'SIGSEGV', line: 'posix_kill(getmypid(), SIGSEGV);', says: 'ended the process' },
    { why: 'SIGKILL', line: 'posix_kill(getmypid(), SIGKILL);', says: 'ended the process' },
    { why: 'a fork', line: 'pcntl_fork() === 0 ? 1 : 2', says: '=> 2' },
    {
      why: 'a death with a process left in the background',
      line: "exec('sleep 30 >/dev/null 2>&1 &'); posix_kill(getmypid(), SIGKILL);",
      says: 'ended the process',
    },
  ]
  it('survives errors, exits, signals and memory exhaustion, one after the other', async () => {
    await using terminal = await openTerminal(undefined, { SCRIPTIFY_MEMORY_LIMIT: '64M' })
    await terminal.enter("$kept = ['a' => [1, 'é']];")
    await terminal.enter('$closure = fn (int $n): int => 2 * $n;')
    await terminal.enter('function twice(int $n) { return 2 * $n; }')
    await terminal.enter('class Kept { function leave(int $code) { exit($code); } }')
    for (const { why, line, says } of ENDS) {
      expect(await terminal.enter(line), why).toContain(says)
      const whole = "[$kept['a'][1], twice(4), $closure(5)] == ['é', 8, 10]"
      expect(await terminal.enter(whole), why).toContain('=> true')
    }
  })

  it('lists what the session declares, and nothing of Composer', async () => {
    await machine.copyContentToContainer([
      {
        target: '/tmp/composed/vendor/autoload.php',
        content: `<?php
          $GLOBALS['__composer_autoload_files']['a'] = true;
          function composerRequire() {}
          require __DIR__ . '/package/functions.php';`,
      },
      { target: '/tmp/composed/vendor/package/functions.php', content: '<?php function packaged() {}' },
    ])
    await using terminal = await openTerminal(['--no-preload', '--rootdir', '/tmp/composed'])
    await terminal.enter('$mine = 1; function own() {} class Own {} new class {};')
    expect(await terminal.enter('.ls')).toMatch(/\.ls\n\$mine {2}int\nown\(\)\nclass Own\nphp> $/)
  })

  it('brings its own preload into any project, and shows no frames of it', async () => {
    await using terminal = await openTerminal(['--rootdir', '/srv', '--env', 'DATABASE_URL=redis://x'])
    expect(terminal.banner).toMatch(/Preload: .*\/templates\/scriptify\/scriptify\.php/)
    expect(await terminal.enter('dump($executor::class)')).toContain('"ScriptifyExecutor"')
    const failed = await terminal.enter("qq('select 1')")
    expect(failed).toMatch(
      /DATABASE_URL must begin with .*\n {4}at php shell code:1\n {4}in qq\(\) called at php shell code:1\n/,
    )
    expect(failed).not.toContain('scriptify.php')
  })

  it('continues without pcntl with what was declared, and names what it lost', async () => {
    // Debian compiles the extension in; a function that is switched off looks like one that was never there.
    const { exitCode, output } = await machine.exec([
      'php',
      '-r',
      `mkdir('/tmp/without-pcntl');
      $names = array_filter(get_defined_functions()['internal'], fn ($name) => str_starts_with($name, 'pcntl_'));
      file_put_contents('/tmp/without-pcntl/without.ini', 'disable_functions=' . implode(',', $names));
      echo implode(',', $names);`,
    ])
    expect([exitCode, output]).toEqual([0, expect.stringContaining('pcntl_fork')])
    await using terminal = await openTerminal(['--no-preload'], {
      PHP_INI_SCAN_DIR: ':/tmp/without-pcntl',
      SCRIPTIFY_MEMORY_LIMIT: '64M',
    })
    expect(terminal.banner).toContain('php has no pcntl')
    await terminal.enter('use DateTimeImmutable as D;')
    await terminal.enter('function twice(int $n) { return 2 * $n; }')
    await terminal.enter('class Kept { function leave(int $code) { exit($code); } }')
    for (const [line, says] of [
      ['$a = ;', 'ParseError'],
      ["throw new Exception('boo');", 'Exception: boo'],
    ]) {
      expect(await terminal.enter(`$lost = 5; ${line}`), line).toContain(says)
    }
    for (const [line, says] of [
      ['class Q implements Countable {}', 'ended the process'],
      ['(new Kept)->leave(0)', 'exit() was called'],
      ['$s = str_repeat("x", 1 << 30);', 'memory size'],
      ['posix_kill(getmypid(), SIGSEGV);', 'ended the process'],
    ]) {
      await terminal.enter('$lost = 5;')
      const shown = await terminal.enter(`${line}`)
      expect(shown, line).toContain(says)
      expect(shown, line).toMatch(/Could not be restored: lost\n/)
      expect(
        await terminal.enter('[twice(4), D::class, isset($lost)] == [8, "DateTimeImmutable", false]'),
      ).toContain('=> true')
    }
    for (const line of ['while (true);', 'sleep(60);']) {
      terminal.type(`echo 'be', 'gun'; ${line}\r`)
      await terminal.see('begun')
      terminal.type(CTRL_C)
      await terminal.see(/php> $/)
      expect(await terminal.enter('twice(4)')).toContain('=> 8')
    }
  })

  it('shows values in colours, in 20 columns', async () => {
    // Under CI, Node shows colours only where they are forced.
    const env = { NO_COLOR: undefined, CI: '1', FORCE_COLOR: '1', LC_ALL: 'C' }
    await using terminal = await openTerminal(['--no-preload'], env, { cols: 20, rows: 12 })
    const screen = watchScreen(terminal)
    terminal.type('["漢", "字", "漢字"]\r')
    await terminal.see(/php> $/)
    await vi.waitFor(() => expect(screen.inColor(2)).toEqual(['"漢"', '"字"', '"漢字"']), {
      timeout: 60_000,
      interval: 20,
    })
  })

  it('writes nothing but text where it is dumb, runs nothing that is not UTF-8, and leaves at die with code 0', async () => {
    await using terminal = await openTerminal(['--no-preload'], { NO_COLOR: undefined, TERM: 'dumb' })
    let written = ''
    terminal.pty.onData((data) => {
      written += data
    })
    Reflect.apply(terminal.pty.write, terminal.pty, [Buffer.from('$written = "caf\xe9";\r', 'latin1')])
    await terminal.see(/not UTF-8, and was not run[^>]*php> $/)
    expect(await terminal.enter('["é", isset($written)]')).toMatch(/=> \[\n {5}"é",\n {5}false,\n {3}\]/)
    expect(written).not.toContain('\x1b')
    terminal.type('die\r')
    expect(await terminal.exited).toBe(0)
  })

  const ADDRESSES = [
    { url: 'postgres:///latchkey?host=/run/no%20server', says: '/run/no server/.s.PGSQL.5432' },
    { url: 'postgres://me:secret@/latchkey?host=/run/none', says: '/run/none/.s.PGSQL.5432' },
    { url: 'postgres://%2Frun%2Fnone/latchkey', says: '/run/none/.s.PGSQL.5432' },
    { url: 'postgres://[::1]:1/latchkey', says: '"::1", port 1' },
    { url: 'postgres://localhost:1/a%3Bb', says: 'DATABASE_URL contains a semicolon' },
    { url: 'postgres://localhost:x/latchkey', says: 'DATABASE_URL is not a URL' },
    { url: 'mysql://localhost:1/latchkey?ssl-mode=REQUIRED', says: 'DATABASE_URL asks for TLS' },
    { url: 'redis://localhost/0', says: 'DATABASE_URL must begin with postgres://' },
  ]
  it('says where an address leads to', async () => {
    await using terminal = await openTerminal(['--preload', 'templates/scriptify/scriptify.php'])
    for (const { url, says } of ADDRESSES) {
      await terminal.enter(`$executor = new ScriptifyExecutor('${url}');`)
      expect(await terminal.enter("qq('select 1')"), url).toContain(says)
    }
  })

  describe.each<{
    server: SharedServer
    /** The name of a database that has to be quoted. */
    name: string
    quoted: string
    database: string
    sleep: string
    sleeping: string
    dsn: (address: URL) => string
  }>([
    {
      server: 'postgres',
      name: "my db's",
      quoted: `"my db's"`,
      database: 'select current_database() as name',
      sleep: 'select pg_sleep(4)',
      sleeping: `select pid from pg_stat_activity where state = 'active' and datname = $1 and query = $2`,
      dsn: ({ port }) => `pgsql:host=${HOST};port=${port};dbname=postgres`,
    },
    ...(['mysql', 'mariadb'] as const).map((server) => ({
      server,
      name: "my; db's",
      quoted: "`my; db's`",
      database: 'select database() as name',
      sleep: 'select sleep(4)',
      sleeping: `select id from information_schema.processlist where db = $1 and info = $2`,
      dsn: ({ port }: URL) => `mysql:host=${HOST};port=${port}`,
    })),
  ])('on $server', ({ server, name, quoted, database, sleep, sleeping, dsn }) => {
    let admin: Database
    let address: URL
    beforeAll(async () => {
      address = new URL(await sharedServer(server))
      admin = await openDatabase(address.href, { poolSize: 1 })
      await admin.runScript(`create database ${quoted}`)
    })
    afterAll(async () => {
      await admin?.runScript(`drop database ${quoted}${server === 'postgres' ? ' with (force)' : ''}`)
      await admin?.close()
    })
    const untilItRuns = (query: string) =>
      waitFor(async () => (await admin.query({ name: 'sleeping', text: sleeping }, [name, query])).length > 0)

    it('answers each query with its own rows, whatever ended the one before', {
      timeout: 180_000,
    }, async () => {
      const url = new URL(address)
      url.hostname = HOST
      url.pathname = `/${encodeURIComponent(name)}`
      await using terminal = await openTerminal([
        '--preload',
        'templates/scriptify/scriptify.php',
        '--env',
        `DATABASE_URL=${url.href}`,
      ])
      expect(
        await terminal.enter("qq('select 1 as one, null as nothing, :v as given', ['v' => 'é'])"),
      ).toMatch(/one \| nothing \| given\n-+\S*\n1 +\| NULL +\| é\n1 row\(s\)/)
      expect(await terminal.enter(`qq('${database}')`)).toMatch(/name\n-+\nmy;? db's\n1 row/)
      const { username, password } = address
      await terminal.enter(`$own = new PDO('${dsn(address)}', '${username}', '${password}');`)
      const answers = async (number: number) => {
        expect(await terminal.enter(`qq('select ${number} as answer')`)).toMatch(
          new RegExp(`answer\\n-+\\n${number}\\n`),
        )
      }
      await answers(2)
      terminal.type(`echo 'be', 'gun'; qq('${sleep}')\r`)
      await terminal.see('begun')
      await untilItRuns(sleep)
      terminal.type(CTRL_C)
      await terminal.see(/Interrupted[\s\S]*php> $/)
      await answers(3)
      // Only by force, for as long as this test could wait.
      const long = sleep.replace('4', '600')
      terminal.type(`echo 'be', 'gun'; qq('${long}')\r`)
      await terminal.see('begun')
      await untilItRuns(long)
      terminal.type(CTRL_C)
      await terminal.see('Ctrl-C again')
      terminal.type(CTRL_C)
      expect(await terminal.see(/ended the process[\s\S]*php> $/)).toContain('$own was a database connection')
      await answers(4)
      for (const [index, line] of [
        'exit(3);',
        '(function () { $f = function () use (&$f) { return $f(); }; return $f(); })()',
      ].entries()) {
        await terminal.enter(line)
        await answers(5 + index)
      }
      expect(
        await terminal.enter("bin2hex(uuid_to_bin('{0190A1B2-0000-7000-8000-000000000001}'))"),
      ).toContain('0190a1b200007000')
    })
  })
})
