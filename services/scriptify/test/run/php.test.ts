import { beforeAll, describe, expect, it } from 'vitest'
import { hasDocker } from '../terminal-docker.ts'
import { type Language, startLanguage } from './language.ts'

/** The facts that Composer's autoloader tells of itself. */
const COMPOSER = `<?php
require getenv('PROJECT') . '/bootstrap.php';
final class Loader
{
    public function getClassMap() { return []; }
    public function getPrefixesPsr4() { return ['App\\\\' => [getenv('PROJECT') . '/src']]; }
    public function loadClass($class) {}
}
spl_autoload_register([new Loader(), 'loadClass']);`

describe.skipIf(!(await hasDocker())).concurrent('a method in php', () => {
  let php: Language
  beforeAll(async () => {
    php = await startLanguage('php')
  })

  it('fails in one line of text by an exception without a name', async () => {
    const { code, stderr } = await php.sh(
      `echo '<?php class Anon { function run() { throw new class("x") extends Exception {}; } }' > /tmp/anon.php
       scriptify run -b /tmp/anon.php Anon::run`,
    )
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'Exception@anonymous: x (/tmp/anon.php:1) (more: --trace)\n',
    })
  })

  it('writes its warnings to the error_log of php.ini too', async () => {
    const { stdout, stderr } = await php.sh(
      `mkdir -p /tmp/ini; cd /tmp/ini
       printf 'log_errors=1\\nerror_log=/tmp/ini/errors.log\\n' > error-log.ini
       mkdir -p none; echo 'log_errors=1' > none/none.ini
       echo '<?php class Warns { function run() { trigger_error("careful"); } }' > warns.php
       PHP_INI_SCAN_DIR=:/tmp/ini scriptify run 'warns.php#Warns::run'
       PHP_INI_SCAN_DIR=:/tmp/ini/none scriptify run 'warns.php#Warns::run'
       sed 's/^.*PHP/PHP/' errors.log`,
    )
    expect(stderr.match(/Notice: +careful/g)).toHaveLength(2)
    expect(stdout).toMatch(/^PHP Notice: {2}careful in .*\n$/)
  })

  it('may be of a class in a file that is named, with or without an autoloader', async () => {
    const { stdout, stderr } = await php.sh(
      `mkdir -p /tmp/tool && cd /tmp/tool
       echo '<?php namespace Tool; class Hi { /** Says it. */ function say(int $n) { return "hi" . $n; } }' > hi.php
       scriptify run 'hi.php#Tool\\Hi::say' --arg 2 --print
       scriptify methods 'hi.php#Tool\\Hi'
       scriptify run 'hi.php#Tool\\Hi::sayy'
       scriptify run 'hi.php#Tool\\Hi::say' --runtime node
       scriptify run nope.php#Hi::say
       scriptify run hi.php::say
       echo '<?php throw new Exception("broken");' > broken.php; scriptify run 'broken.php#Hi::say'
       mkdir vendor; echo '<?php echo "loaded\n";' > vendor/autoload.php
       scriptify run 'hi.php#Tool\\Hi::say' --arg 3 --print`,
    )
    expect(stdout).toBe(`"hi2"\nhi.php#Tool\\Hi::say  Says it.\nloaded\n"hi3"\n`)
    expect(stderr.split('\n')).toEqual([
      'The class Tool\\Hi has no method sayy (did you mean say?)',
      '"hi.php#Tool\\\\Hi::say" is a php reference, and --runtime says node',
      'Module /tmp/tool/nope.php does not exist',
      expect.stringContaining('name what the module exports, hi.php#Class::say'),
      'The file /tmp/tool/broken.php failed: Exception: broken (broken.php:1) (more: --trace)',
      '',
    ])
  })

  it.each(['--arg', '--json-arg'])('gets the objects in an object by %s', async (option) => {
    const words = [option, '{"a":[],"b":{"c":{}}}', '--print']
    expect((await php.run(['\\App\\Typed::nested', ...words])).stdout).toBe('"array stdClass"\n')
  })

  it('says what a stdClass takes, with 2', async () => {
    expect(await php.run(['\\App\\Typed::standard', '--arg', '[1]'])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'Argument 1, "[1]", does not fit <value: stdClass>: give a JSON object\n',
    })
  })

  it('gets arrays for objects where any value fits', async () => {
    const words = ['--json-arg', '{"b":{"c":{}}}', '--print']
    expect((await php.run(['\\App\\Typed::arrays', ...words])).stdout).toBe('"array"\n')
  })

  it.each([
    { why: 'mistyped', reference: 'App\\Prbe::still', says: '(did you mean App\\Probe?)' },
    { why: 'not similar', reference: 'App\\Nope::still', says: /^Class App\\Nope does not exist$/ },
    { why: 'without its namespace', reference: 'Prbe::still', says: '(did you mean App\\Probe?)' },
    { why: 'whose backslash the shell removed', reference: 'AppProbe::still', says: 'App\\Probe? Quote it' },
  ])(
    'hints at a class that is $why, by composer.json and by Composer’s autoloader',
    async ({ reference, says }) => {
      const { stderr } = await php.sh(
        `scriptify run -b bootstrap.php '${reference}'
         export PROJECT=$PWD; loader=$(mktemp); cat > $loader <<'END'
${COMPOSER}
END
         cd / && scriptify run --runtime php -b $loader '${reference}'`,
      )
      const lines = stderr.trimEnd().split('\n')
      expect(lines).toHaveLength(2)
      for (const line of lines)
        expect(line).toEqual(
          typeof says === 'string' ? expect.stringContaining(says) : expect.stringMatching(says),
        )
    },
  )

  it('ends as by SIGPIPE when the reader of its output has left', async () => {
    const still = "scriptify run -b bootstrap.php 'App\\Probe::still'"
    for (const option of ['', '--showdocs'])
      expect((await php.sh(`{ ${still} ${option}; echo $? >&2; } | true`)).stderr).toBe('141\n')
  })

  it('is documented with types and defaults', async () => {
    const { stdout } = await php.run(['App\\Types::defaults', '--showdocs'])
    expect(stdout).toBe(
      "Usage: scriptify run 'App\\Types::defaults' [--arg <list: ?array = NULL>] [--arg <limit: int = self::LIMIT>] " +
        "[--arg <at: DateTime = new \\DateTime('today')>] [--arg <rest: string|int> …]\n",
    )
  })

  it.each([
    {
      why: 'an abstract class',
      reference: 'App\\Shape::name',
      code: 2,
      says: 'App\\Shape cannot be constructed',
    },
    {
      why: 'an abstract method',
      reference: 'App\\Shape::draw',
      code: 2,
      says: 'App\\Shape::draw is abstract',
    },
    { why: 'what its class does not parse', reference: 'App\\Broken::run', code: 1, says: 'ParseError' },
  ])('refuses $why with $code', async ({ reference, code, says }) => {
    const ended = await php.run([reference])
    expect({ ...ended, stderr: '' }).toEqual({ code, stdout: '', stderr: '' })
    expect(ended.stderr).toMatch(/^[^\n]+\n$/)
    expect(ended.stderr).toContain(says)
  })

  it('finds its classes by SCRIPTIFY_BOOTLOADER, over which --bootstrap wins', async () => {
    const still = "'App\\Probe::still'"
    expect((await php.sh(`scriptify run ${still}`)).stderr).toContain('vendor/autoload.php does not exist')
    expect((await php.sh(`SCRIPTIFY_BOOTLOADER=bootstrap.php scriptify run ${still}`)).stdout).toBe(
      'static\n',
    )
    expect((await php.sh(`SCRIPTIFY_BOOTLOADER=no.php scriptify run ${still}`)).code).toBe(3)
    const { stdout } = await php.sh(`SCRIPTIFY_BOOTLOADER=no.php scriptify run -b bootstrap.php ${still}`)
    expect(stdout).toBe('static\n')
  })

  it('as a daemon without pcntl says that it cannot finish its call', async () => {
    const { code, stdout, stderr } = await php.sh(
      `d=$(mktemp -d); echo 'disable_functions=pcntl_signal' > $d/none.ini; : > $d/out
       PHP_INI_SCAN_DIR=$d become_scriptify run -b bootstrap.php 'App\\Probe::work' --arg $d/go --daemon > $d/out & pid=$!
       wait_for begin $d/out
       kill $pid; wait $pid; code=$?; cat $d/out; exit $code`,
    )
    expect({ code, stdout }).toEqual({ code: 143, stdout: 'begin\n' })
    expect(stderr).toContain('php has no pcntl extension')
  })

  it('may have a PATH in which there is no php', async () => {
    const { code, stdout } = await php.sh(
      `scriptify run -b bootstrap.php --env PATH=/nowhere 'App\\Probe::env' --arg PATH`,
    )
    expect({ code, stdout }).toEqual({ code: 0, stdout: '/nowhere\n' })
  })

  it('gets long arguments up to what the system hands over', async () => {
    const long = (count: number) => `v=$(head -c ${count} /dev/zero | tr '\\0' x)\n`
    const { stdout } = await php.sh(
      `${long(131_071)} scriptify run -b bootstrap.php 'App\\Probe::hex' --arg "$v" | wc -c`,
    )
    expect(stdout.trim()).toBe('262143')
    const { stderr } = await php.sh(`${long(70_000)} scriptify run -b bootstrap.php "$v::run"`)
    expect(stderr).toMatch(/^An argument is too long for the system: [^\n]+\n$/)
  })

  it('takes an empty SCRIPTIFY_PHP_BINARY for none', async () => {
    const { stdout } = await php.sh(
      `SCRIPTIFY_PHP_BINARY= scriptify run -b bootstrap.php 'App\\Probe::still'`,
    )
    expect(stdout).toBe('static\n')
  })
})
