import { beforeAll, describe, expect, it } from 'vitest'
import { type Language, languages, quote, startLanguage } from './language.ts'

const HOSTILE = [
  '',
  ' ',
  '  two  spaces  ',
  '-x',
  '--arg',
  '--',
  '--help',
  '-1',
  'a=b=c',
  '"double"',
  "it's",
  '$HOME $(id) `id`',
  'back\\slash\\',
  'line\none',
  'tab\there',
  '%d %h %%',
  '!history',
  '*.php ?',
  'é日本🦊',
  'e\u0301',
  '\ufffd',
  '#;&|<>',
  '\r\n',
  '\x1b[2J',
  '0',
  'null',
]
const hex = (values: readonly string[]) =>
  values.map((value) => `${Buffer.from(value).toString('hex')}\n`).join('')

describe.concurrent.each(languages)('run in $name', ({ name, isThere }) => {
  let language: Language
  beforeAll(async () => {
    if (isThere) language = await startLanguage(name)
  })

  describe.skipIf(!isThere)('a method', () => {
    it('gets its arguments in order', async () => {
      const { code, stdout, stderr } = await language.runFromShell([
        '\\App\\Probe::hex',
        ...HOSTILE.flatMap((value) => ['--arg', value]),
      ])
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toBe(hex(HOSTILE))
    })

    it('gets the variables of files, and those of --env before them', async () => {
      const { stdout, stderr } = await language.sh(
        `d=$(mktemp -d); printf 'A=1\\nB="two words" # comment\\n' > $d/one.env; printf "export B='3'\\nHOME=/none\\n" > $d/two.env
         show() { scriptify run "$@" '\\App\\Probe::env' ${name === 'php' ? '--bootstrap bootstrap.php' : ''} --arg "$v"; }
         for v in A B HOME; do show --env-file $d/one.env; show --env-file $d/one.env --env-file $d/two.env --env A=4; done
         [ "$HOME" != /none ] && echo "$HOME"`,
      )
      expect(stderr).toBe('')
      const lines = stdout.trimEnd().split('\n')
      expect(lines).toEqual(['1', '4', 'two words', '3', lines.at(-1), '/none', lines.at(-1)])
    })

    it('is ended after --timeout with 124', async () => {
      const words = name === 'php' ? '--bootstrap bootstrap.php' : ''
      const { stdout, stderr } = await language.sh(
        `scriptify run '\\App\\Probe::forever' ${words} --timeout 500ms; echo $?
         scriptify run '\\App\\Probe::still' ${words} --timeout 60; echo $?
         scriptify run '\\App\\Probe::still' ${words} --timeout 60 --daemon; echo $?`,
      )
      expect(stdout).toBe('124\nstatic\n0\n2\n')
      expect(stderr).toMatch(/^[^\n]*'--timeout <seconds>' cannot be used with[^\n]*\n$/)
    })

    it('gets each spelling of an argument', async () => {
      const { stdout } = await language.run(['App\\\\Probe::hex', '--arg=--x', '-a', '-y', '-az', '--arg='])
      expect(stdout).toBe(hex(['--x', '-y', 'z', '']))
    })

    it('gets no arguments that are not UTF-8', async () => {
      const reference = quote('\\App\\Probe::hex')
      const bootstrap = name === 'php' ? '--bootstrap bootstrap.php' : ''
      const { code, stdout, stderr } = await language.sh(
        `scriptify run ${bootstrap} ${reference} --arg plain --arg "$(printf 'a\\377')"`,
      )
      expect({ code, stdout, stderr }).toEqual({
        code: 2,
        stdout: '',
        stderr: 'An argument is not UTF-8: convert it to UTF-8\n',
      })
    })

    it('gets values of JSON between texts, and what it returns is printed as JSON', async () => {
      const args = ['--json-arg', '{"a":[1,"é",null]}', '--print']
      expect(await language.run(['\\App\\Probe::describe', ...args])).toMatchObject({
        code: 0,
        stdout: name === 'php' ? '"{\\"a\\":[1,\\"\\\\u00e9\\",null]}"\n' : '"{\\"a\\":[1,\\"é\\",null]}"\n',
      })
      expect((await language.run(['\\App\\Probe::add', '--arg', '5', '--print'])).stdout).toBe('"7"\n')
      expect((await language.run(['\\App\\Probe::hex', '--print'])).stdout).toBe('null\n')
      expect((await language.run(['\\App\\Probe::add', '--arg', '5'])).stdout).toBe('')
    })

    it.each([
      { types: 'numbers', args: ['add', '2', '3'], prints: expect.stringMatching(/^5(\.0)?$/) },
      { types: 'numbers by their defaults', args: ['add', '2.5'], prints: '4.5' },
      { types: 'numbers by a default below zero', args: ['below', '-5'], prints: '-5' },
      { types: 'booleans', args: ['flags', 'false', '1'], prints: '[false,true]' },
      { types: 'null', args: ['nothing', 'null'], prints: 'null' },
      { types: 'a number that may be null', args: ['nothing', '7'], prints: '7' },
      { types: 'unions with texts', args: ['either', '5'], prints: '"5"' },
      { types: 'a choice', args: ['level', 'low'], prints: '"low"' },
      {
        types: 'a date',
        args: ['when', '2026-11-24T10:00:00Z'],
        prints: expect.stringContaining('2026-11-24T10:00:00.000'),
      },
      {
        types: 'an exact large number',
        args: ['add', '9007199254740992', '0'],
        prints: expect.stringMatching(/^9007199254740992(\.0)?$/),
      },
      {
        types: 'the last day of a month',
        args: ['when', '31 Jan 2026 00:00:00 GMT'],
        prints: expect.stringContaining('2026-01-31T00:00:00.000'),
      },
      {
        types: 'a leap day',
        args: ['when', '2028-02-29'],
        prints: expect.stringContaining('2028-02-29T00:00:00.000'),
      },
      { types: 'a list', args: ['list', '[1,[2]]'], prints: '[1,[2]]' },
      { types: 'an object', args: ['object', '{"a":1}'], prints: '{"a":1}' },
      { types: 'the rest', args: ['sum', '1', '2', '3'], prints: '6' },
      { types: 'no type', args: ['untyped', '5'], prints: '"5"' },
      { types: 'text, whatever it looks like', args: ['text', 'true'], prints: '"true"' },
    ])('gets $types', async ({ args: [method, ...values], prints }) => {
      const ended = await language.call(`\\App\\Typed::${method}`, values)
      expect({ ...ended, stdout: ended.stdout.trim() }).toEqual({ code: 0, stdout: prints, stderr: '' })
    })

    it.each([
      { args: ['add', '2', 'x'], says: /^Argument 2, "x", does not fit <(two|b).*>\n$/ },
      ...['1e400', '1e-400', '12345678901234567890', '9007199254740993'].map((text) => ({
        args: ['add', text],
        says: /^Argument 1, .*, does not fit <\D+>\n$/,
      })),
      {
        args: ['list', '[12345678901234567890]'],
        says: /^Argument 1, .*, does not fit <values: .*>\n$/,
      },
      ...['2026-02-31', '2026-02-30T10:00:00+02:00', '29 February 2026'].map((text) => ({
        args: ['when', text],
        says: /^Argument 1, .*, does not fit <at: Date.*>(: give a date)?\n$/,
      })),
      { args: ['flags', 'maybe', '1'], says: /^Argument 1, "maybe", does not fit <on: bool(ean)?>\n$/ },
      { args: ['nothing', 'x'], says: /^Argument 1, "x", does not fit <one: .*>\n$/ },
      {
        args: ['level', 'nope'],
        says: /^Argument 1, "nope", does not fit <level: .*>: give low, high\n$/,
      },
      {
        args: ['when', 'soon-ish'],
        says: /^Argument 1, "soon-ish", does not fit <at: Date.*>(: give a date)?\n$/,
      },
      { args: ['list', '{'], says: /^Argument 1, "{", does not fit <values: .*>\n$/ },
      { args: ['sum', '1', 'x'], says: /^Argument 2, "x", does not fit <\.{0,3}numbers: .*>\n$/ },
      { args: ['clock', 'x'], says: /^Argument 1, "x", does not fit <clock: .*Clock>.*\n$/ },
    ])('refuses $args, which its types cannot hold, with 2', async ({ args: [method, ...values], says }) => {
      const ended = await language.call(`\\App\\Typed::${method}`, values)
      expect(ended).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(says) })
    })

    it('runs to its end if it is a generator, and prints each value', async () => {
      const run = (...more: string[]) => language.run(['\\App\\Typed::countdown', '--arg', '3', ...more])
      expect(await run('--print')).toEqual({ code: 0, stdout: '3\n2\n1\n', stderr: 'lift-off\n' })
      expect(await run()).toEqual({ code: 0, stdout: '', stderr: 'lift-off\n' })
    })

    it('may return what JSON cannot hold, but not have it printed', async () => {
      expect((await language.run(['\\App\\Probe::circle'])).code).toBe(0)
      for (const more of [[], ['--daemon', '--interval', '0']]) {
        const { code, stderr } = await language.run(['\\App\\Probe::circle', '--print', ...more])
        expect(code).toBe(1)
        expect(stderr).toMatch(
          /^The result of (App\\)?Probe::circle cannot be written as JSON(:|, caused by:) [^\n]+\n$/,
        )
        expect(stderr).not.toMatch(/task\.(php|ts)/)
      }
    })

    it('gets the environment literally, the last of a name', async () => {
      const given = ['A=x', 'A=x+y=%41 é$HOME\n"', 'EMPTY='].flatMap((entry) => ['--env', entry])
      const { stdout } = await language.run(['\\App\\Probe::env', '--arg', 'A', ...given])
      expect(stdout).toBe('x+y=%41 é$HOME\n"\n')
      expect((await language.run(['\\App\\Probe::env', '--arg', 'EMPTY', ...given])).stdout).toBe('\n')
    })

    it('runs in the root directory, in the process that was started', async () => {
      const bootstrap = name === 'php' ? '--bootstrap bootstrap.php' : ''
      const { stdout } = await language.sh(
        `cd /tmp
         become_scriptify run --rootdir ${language.project} ${bootstrap} '\\App\\Probe::where' &
         wait $!; echo ${language.project} $!`,
      )
      const [where, expected] = stdout.split('\n')
      expect(where).toBe(expected)
    })

    it('is found from a folder below that of its project, and runs there', async () => {
      const bootstrap = name === 'php' ? '--bootstrap bootstrap.php' : ''
      const { stdout } = await language.sh(
        `cd src; scriptify run ${bootstrap} '\\App\\Probe::where'; scriptify methods | grep -c Probe
         scriptify run '${name === 'php' ? 'Shape.php#App\\Shape' : 'base.ts#Base'}'`,
      )
      const [where, classes, listed] = stdout.split('\n')
      expect([where?.split(' ')[0], classes]).toEqual([language.project, '1'])
      expect(listed).toMatch(/^(Shape\.php#App\\Shape::name|base\.ts#Base::handedDown {2}Comes down\.)$/)
    })

    it('is called without an instance if it is static', async () => {
      const ended = await language.run(['\\App\\Probe::still', '--env', 'SHOW_CONSTRUCTOR=1'])
      expect(ended).toEqual({ code: 0, stdout: 'static\n', stderr: '' })
      expect((await language.run(['\\App\\Needy::still'])).stdout).toBe('static\n')
    })

    it('is documented without an instance', async () => {
      const { code, stdout, stderr } = await language.run([
        '\\App\\Probe::add',
        '--showdocs',
        '--env',
        'SHOW_CONSTRUCTOR=1',
      ])
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      const [one, two] =
        name === 'php' ? ['one: string', "two: string = '2'"] : ['one: string', "two: string = '2'"]
      expect(stdout).toBe(
        `Adds two numbers.\n\nSlowly.\n\nUsage: scriptify run '\\App\\Probe::add' --arg <${one}> [--arg <${two}>]\n`,
      )
    })

    it('is listed with those of its class, and the first line of its comment', async () => {
      const { code, stdout, stderr } = await language.run(['App\\Probe'])
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toMatch(/^App\\Probe::add +Adds two numbers\.$/m)
      expect(stdout).toMatch(/^App\\Probe::still$/m)
      expect(stdout).not.toMatch(/hidden|guarded|__|constructor/)
    })

    it.each([
      { why: 'an unknown class', args: ['\\App\\Nope::run'], code: 3, says: 'App\\Nope' },
      { why: 'an unknown method', args: ['\\App\\Probe::nope'], code: 3, says: 'no method nope' },
      {
        why: 'a private method',
        args: ['\\App\\Probe::hidden'],
        code: 3,
        says: 'Probe::hidden is not public',
      },
      {
        why: 'a protected method',
        args: ['\\App\\Probe::guarded'],
        code: 3,
        says: 'Probe::guarded is not public',
      },
      {
        why: 'a magic method',
        args: ['\\App\\Probe::__call'],
        code: 3,
        says: 'Probe::__call cannot be called',
      },
      {
        why: 'no argument',
        args: ['\\App\\Probe::add'],
        code: 2,
        says: 'takes 1 to 2 arguments, not 0: --arg <one',
      },
      {
        why: 'an argument too many',
        args: ['\\App\\Probe::still', '-a', 'x'],
        code: 2,
        says: 'takes 0 arguments, not 1\n',
      },
      {
        why: 'JSON with a number that changes',
        args: ['\\App\\Probe::describe', '--json-arg', '{"id":12345678901234567890}'],
        code: 2,
        says: 'give it as a string',
      },
      {
        why: 'no JSON',
        args: ['\\App\\Probe::describe', '--json-arg', '{'],
        code: 2,
        says: 'Argument 1 is not JSON',
      },
      { why: 'a class with needs', args: ['\\App\\Needy::run'], code: 2, says: 'cannot be constructed' },
      {
        why: 'a mistyped method',
        args: ['\\App\\Probe::stil'],
        code: 3,
        says: 'no method stil (did you mean still?)',
      },
      {
        why: 'a shell of a class',
        args: ['\\App\\$(id)::run'],
        code: 2,
        says: 'is not a method reference: give',
      },
      {
        why: 'an unknown folder',
        args: ['\\App\\Probe::still', '-r', '/nowhere'],
        code: 3,
        says: '/nowhere',
      },
      {
        why: 'an unknown bootstrap',
        args: ['\\App\\Probe::still', '--bootstrap=no.x'],
        code: 3,
        says: 'no.x',
      },
      {
        why: 'a bad --env',
        args: ['\\App\\Probe::still', '--env', 'A'],
        code: 2,
        says: '--env needs NAME=VALUE',
      },
      { why: 'a bad name of --env', args: ['\\App\\Probe::still', '-e', 'A B=1'], code: 2, says: '"A B"' },
      {
        why: 'a limit that is none',
        args: ['\\App\\Probe::still', '-e', 'SCRIPTIFY_MEMORY_LIMIT=lots'],
        code: 2,
        says: 'SCRIPTIFY_MEMORY_LIMIT must be like 256M',
      },
      {
        why: 'an interval of one call',
        args: ['\\App\\Probe::still', '--interval', '1'],
        code: 2,
        says: '--daemon',
      },
      {
        why: 'an interval that is none',
        args: ['\\App\\Probe::still', '-d', '--interval', '-1'],
        code: 2,
        says: 'seconds',
      },
      {
        why: 'a word too many',
        args: ['\\App\\Probe::still', 'x'],
        code: 2,
        says: 'give each of the method with --arg',
      },
    ])('refuses $why in one line with $code', async ({ args, code, says }) => {
      const ended = await language.run(args)
      expect({ ...ended, stderr: '' }).toEqual({ code, stdout: '', stderr: '' })
      expect(ended.stderr).toMatch(/^[^\n]+\n$/)
      expect(ended.stderr).toContain(says)
    })

    it('that fails ends with 1 and one line', async () => {
      const { code, stdout, stderr } = await language.run(['\\App\\Probe::boom'])
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(
        /^(RuntimeException|RangeError): boom \(src\/(Probe\.php|probe\.ts):\d+\) \(more: --trace\)\n$/,
      )
    })

    it('that fails with several lines says them in one', async () => {
      const { code, stderr } = await language.run(['\\App\\Probe::ramble'])
      expect(code).toBe(1)
      expect(stderr).toMatch(
        /^(RuntimeException: )?first second third( \(src\/Probe\.php:\d+\))? \(more: --trace\)\n$/,
      )
    })

    it.each([0, 7, 255])('may end the process with %i', async (code) => {
      const { code: ended, stderr } = await language.run(['\\App\\Probe::leave', '--arg', `${code}`])
      expect({ ended, stderr }).toEqual({ ended: code, stderr: '' })
    })

    it.each([
      { signal: 9, code: 137 },
      { signal: 15, code: 143 },
      { signal: 11, code: 139 },
    ])('that dies by signal $signal ends with $code', async ({ signal, code }) => {
      expect((await language.run(['\\App\\Probe::dieBy', '--arg', `${signal}`])).code).toBe(code)
    })

    it('cannot have more memory than it may', async () => {
      const args = ['\\App\\Probe::fill', '--env', 'SCRIPTIFY_MEMORY_LIMIT=64M']
      const { code, stderr } = await language.run(args)
      // Node ends by SIGABRT.
      expect(code).toBe(name === 'php' ? 1 : 134)
      expect(stderr).toMatch(/Allowed memory size of 67108864 bytes exhausted|heap out of memory/)
    })

    it.each([
      { reader: 'head -1', why: 'leaves' },
      // The pipe is full when it does.
      { reader: '(sleep 1; head -1)', why: 'hesitates and leaves' },
    ])('ends when who reads what it writes $why', async ({ reader }) => {
      const bootstrap = name === 'php' ? '--bootstrap bootstrap.php' : ''
      const { stdout, stderr } = await language.sh(
        `{ scriptify run ${bootstrap} '\\App\\Probe::pour'; echo $? >&2; } | ${reader}`,
      )
      expect({ stdout, stderr }).toEqual({ stdout: 'drop\n', stderr: '141\n' })
    })
  })

  describe.skipIf(!isThere)('the streams of a method', () => {
    const run = (method: string) =>
      `scriptify run ${name === 'php' ? '--bootstrap bootstrap.php' : ''} '\\App\\Probe::${method}'`

    it('lose no byte from a slow writer', async () => {
      const { stdout } = await language.sh(
        `(sleep 2; head -c 300000 /dev/zero; sleep 1; echo end) | ${run('drink')}`,
      )
      expect(stdout).toBe('300004\n')
    })

    it('lose no byte from a file', async () => {
      const { stdout } = await language.sh(
        `file=$(mktemp); head -c 300000 /dev/zero > $file; ${run('drink')} < $file`,
      )
      expect(stdout).toBe('300000\n')
    })

    it('lose no byte to a slow reader', async () => {
      const { stdout } = await language.sh(`${run('fillPipe')} | { sleep 2; wc -l; }`)
      expect(stdout).toBe('200000\n')
    })

    it('are as before to the shell that goes on', async () => {
      const { stdout, stderr } = await language.sh(
        `{ ${run('still')}; seq 1 100000; } | { sleep 3; wc -l; }
         { sleep 3; echo late; } | { ${run('still')}; cat; }`,
      )
      expect({ stdout, stderr }).toEqual({ stdout: '100001\nstatic\nlate\n', stderr: '' })
    })

    it('that cannot take its output end it with 1', async () => {
      const ended = await language.sh(`${run('still')} > /dev/full`)
      expect(ended.code).toBe(1)
      expect(ended.stderr).toMatch(/^Standard output cannot be written[^\n]*\n$/)
    })
  })

  describe.skipIf(!isThere)('a call without permission', () => {
    const bootstrap = `bootstrap.${name === 'php' ? 'php' : 'ts'}`

    it.each([
      {
        what: 'the folder',
        closed: '/p',
        says: 'The root directory DIR/p may not be entered by this user\n',
      },
      {
        what: 'a folder above',
        closed: '',
        says: 'The root directory DIR/p may not be entered by this user\n',
      },
      {
        what: 'the bootstrap',
        closed: `/p/${bootstrap}`,
        says: `The bootstrap DIR/p/${bootstrap} may not be read by this user\n`,
      },
    ])('for $what ends with 4', async ({ closed, says }) => {
      const { code, stdout, stderr } = await language.sh(
        `d=$(mktemp -d); cp -r . $d/p; chmod 755 $d $d/p; chmod 0 $d${closed}; echo $d
         scriptify_without_root run --rootdir $d/p --bootstrap ${bootstrap} '\\App\\Probe::still'
         code=$?; chmod 755 $d $d/p; rm -rf $d; exit $code`,
      )
      expect({ code, stderr }).toEqual({ code: 4, stderr: says.replace('DIR', stdout.trim()) })
    })
  })

  describe.skipIf(!isThere)('a bootstrap', () => {
    const extension = name === 'php' ? 'php' : 'ts'

    it.each([
      { why: 'throws', file: `throwing.${extension}`, says: 'no luck' },
      {
        why: 'ends the process',
        file: `exiting.${extension}`,
        says: 'ended the process before the method was called',
      },
    ])('that $why is named, in one line', async ({ file, says }) => {
      const { code, stdout, stderr } = await language.run([`--bootstrap=${file}`, '\\App\\Probe::still'])
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(/^The bootstrap [^\n]+\n$/)
      expect(stderr).toContain(file)
      expect(stderr).toContain(says)
    })

    it('that does not parse is named', async () => {
      const source = name === 'php' ? '<?php if (' : 'if ('
      const { code, stdout, stderr } = await language.sh(
        `d=$(mktemp -d); printf '%s' '${source}' > $d/broken.${extension}
         scriptify run --runtime ${name} --bootstrap $d/broken.${extension} '\\App\\Probe::still'`,
      )
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(/^The bootstrap [^\n]+broken[^\n]+\n$/)
    })

    it('is not needed to be named when it ends with the class', async () => {
      const { code, stderr } = await language.run(['\\App\\Leaving::run'])
      expect(code).toBe(1)
      expect(stderr).toBe(
        'Loading the class App\\Leaving ended the process before the method was called\n'.replace(
          name === 'php' ? '' : 'App\\',
          '',
        ),
      )
    })
  })

  describe.skipIf(!isThere)('a daemon', () => {
    /** Starts `work` as a daemon, waits until it is in a call, and does `then` with its $pid and the $go file. */
    const withDaemon = (then: string) => {
      const bootstrap = name === 'php' ? '--bootstrap bootstrap.php' : ''
      return language.sh(`
        d=$(mktemp -d); go=$d/go; out=$d/out; : > $out
        become_scriptify run ${bootstrap} '\\App\\Probe::work' --arg $go --daemon --interval 30 > $out 2>&1 & pid=$!
        wait_for begin $out
        ${then}
        wait $pid; code=$?; cat $out; exit $code`)
    }

    it.each(['TERM', 'INT'])('finishes the call in progress on SIG%s', async (signal) => {
      expect(await withDaemon(`kill -${signal} $pid; sleep 0.5; touch $go`)).toEqual({
        code: 0,
        stdout: 'begin\nend\n',
        stderr: '',
      })
    })

    it('ends at once in a pause', async () => {
      const ended = await withDaemon('touch $go; wait_for end $out; kill $pid')
      expect(ended).toEqual({ code: 0, stdout: 'begin\nend\n', stderr: '' })
    })

    it('ends at once by the second signal', async () => {
      const { code, stdout } = await withDaemon('kill $pid; sleep 0.5; kill $pid')
      expect(code).toBe(143)
      expect(stdout).toMatch(/^begin\n(Terminated\n)?$/)
    })

    it('calls again and again', async () => {
      const bootstrap = name === 'php' ? '--bootstrap bootstrap.php' : ''
      const { stdout } = await language.sh(
        `scriptify run ${bootstrap} '\\App\\Probe::still' --daemon --interval 10ms | head -5`,
      )
      expect(stdout).toBe('static\n'.repeat(5))
    })

    it('ends with 1 by a failure', async () => {
      const { code, stdout, stderr } = await language.run([
        '\\App\\Probe::stumble',
        '--daemon',
        '--interval',
        '0',
      ])
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toContain('first')
    })
  })
})
