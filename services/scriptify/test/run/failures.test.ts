import { beforeAll, describe, expect, it } from 'vitest'
import { failHere } from './call-here.ts'
import { type Language, languages, startLanguage } from './language.ts'

interface Failure {
  method: string
  /** The line that it prints by hand, without the hint at --trace. */
  line: string
  /** The text that it prints under --trace and as a service. */
  trace: string[]
}

/** The places have no numbers here: P is the file, and N the line and column. */
const FAILURES: Record<'php' | 'node', Failure[]> = {
  node: [
    {
      method: 'caused',
      line: 'could not send report, caused by: SMTP refused',
      trace: [
        'Error: could not send report (P:N)',
        '    at Failing.caused (P:N)',
        '  caused by Error: SMTP refused (P:N)',
        '    at refuse (P:N)',
        '    at Failing.caused (P:N)',
      ],
    },
    {
      method: 'nested',
      line: 'the nightly job, caused by: could not send report; SMTP refused',
      trace: [
        'JobFailed: the nightly job (P:N)',
        '    at Failing.nested (P:N)',
        '  caused by Error: could not send report (P:N)',
        '    at Failing.caused (P:N)',
        '    at Failing.nested (P:N)',
        '  caused by Error: SMTP refused (P:N)',
        '    at refuse (P:N)',
        '    at Failing.caused (P:N)',
        '    at Failing.nested (P:N)',
      ],
    },
    {
      method: 'library',
      line: 'could not send report, caused by: SMTP refused',
      trace: [
        'Error: could not send report (P:N)',
        '    at Failing.caused (P:N)',
        '    at P:N',
        '    at Failing.library (P:N)',
        '  caused by Error: SMTP refused (P:N)',
        '    at refuse (P:N)',
        '    at Failing.caused (P:N)',
        '    at P:N',
        '    at Failing.library (P:N)',
      ],
    },
    {
      method: 'typeError',
      line: "TypeError: Cannot read properties of undefined (reading 'name') (P:N)",
      trace: [
        "TypeError: Cannot read properties of undefined (reading 'name') (P:N)",
        '    at Failing.typeError (P:N)',
      ],
    },
    {
      method: 'aggregate',
      line: "no server answers, caused by: no route; cable; 'timed out'",
      trace: [
        'AggregateError: no server answers (P:N)',
        '    at Failing.aggregate (P:N)',
        '  caused by Error: no route (P:N)',
        '    at Failing.aggregate (P:N)',
        '  caused by Error: cable (P:N)',
        '    at Failing.aggregate (P:N)',
        "  caused by 'timed out'",
      ],
    },
    {
      method: 'suppressed',
      line: 'both, caused by: could not close; query failed',
      trace: [
        'SuppressedError: both (P:N)',
        '    at Failing.suppressed (P:N)',
        '  caused by Error: could not close (P:N)',
        '    at Failing.suppressed (P:N)',
        '  caused by Error: query failed (P:N)',
        '    at Failing.suppressed (P:N)',
      ],
    },
    {
      method: 'unreachable',
      line: 'fetch failed, caused by: refused ::1',
      trace: [
        'Error: fetch failed (P:N)',
        '    at Failing.unreachable (P:N)',
        '  caused by AggregateError (P:N)',
        '    at Failing.unreachable (P:N)',
        '  caused by Error: refused ::1 (P:N)',
        '    at Failing.unreachable (P:N)',
      ],
    },
    {
      method: 'nameless',
      line: 'refused ::1; refused 127.0.0.1',
      trace: [
        'AggregateError (P:N)',
        '    at Failing.nameless (P:N)',
        '  caused by Error: refused ::1 (P:N)',
        '    at Failing.nameless (P:N)',
        '  caused by Error: refused 127.0.0.1 (P:N)',
        '    at Failing.nameless (P:N)',
      ],
    },
    {
      method: 'causeIsText',
      line: "could not send, caused by: '550 no such user'",
      trace: [
        'Error: could not send (P:N)',
        '    at Failing.causeIsText (P:N)',
        "  caused by '550 no such user'",
      ],
    },
    {
      method: 'causeIsObject',
      line: 'could not send, caused by: [Object]',
      trace: ['Error: could not send (P:N)', '    at Failing.causeIsObject (P:N)', '  caused by [Object]'],
    },
    {
      method: 'causeShowsItself',
      line: 'could not connect, caused by: Connection {}',
      trace: [
        'Error: could not connect (P:N)',
        '    at Failing.causeShowsItself (P:N)',
        '  caused by Connection {}',
      ],
    },
    {
      method: 'looksLikeFrames',
      line: 'bad reply at x (file:///a%2Fb.js:N)',
      trace: ['Error: bad reply at x (file:///a%2Fb.js:N) (P:N)', '    at Failing.looksLikeFrames (P:N)'],
    },
    {
      method: 'withProperties',
      line: 'could not log in',
      trace: ['Error: could not log in (P:N)', '    at Failing.withProperties (P:N)'],
    },
    {
      method: 'cyclic',
      line: 'outer, caused by: inner',
      trace: [
        'Error: outer (P:N)',
        '    at Failing.cyclic (P:N)',
        '  caused by Error: inner (P:N)',
        '    at Failing.cyclic (P:N)',
      ],
    },
    {
      method: 'endless',
      line: '5000, caused by: 4999; 4998; 4997; 4996; 4995; 4994; 4993; 4992; 4991; …',
      trace: [
        ...[5000, 4999, 4998, 4997, 4996, 4995, 4994, 4993, 4992, 4991].flatMap((each, index) => [
          `${index === 0 ? '' : '  caused by '}Error: ${each} (P:N)`,
          '    at Failing.endless (P:N)',
        ]),
        '  caused by …',
      ],
    },
    {
      method: 'deep',
      line: 'deep',
      trace: ['Error: deep (P:N)', ...Array<string>(30).fill('    at Failing.deep (P:N)')],
    },
    { method: 'text', line: "Thrown: 'plain text'", trace: ["Thrown: 'plain text'"] },
  ],
  php: [
    {
      method: 'caused',
      line: 'RuntimeException: could not send report (P:N), caused by: LogicException: SMTP refused (P:N)',
      trace: [
        'RuntimeException: could not send report (P:N)',
        '    at App\\Failing->caused (P:N)',
        '  caused by LogicException: SMTP refused (P:N)',
        '    at App\\Failing::refuse (P:N)',
        '    at App\\Failing->caused (P:N)',
      ],
    },
    {
      method: 'nested',
      line:
        'App\\JobFailed: the nightly job (P:N), caused by: RuntimeException: could not send report (P:N); ' +
        'LogicException: SMTP refused (P:N)',
      trace: [
        'App\\JobFailed: the nightly job (P:N)',
        '    at App\\Failing->nested (P:N)',
        '  caused by RuntimeException: could not send report (P:N)',
        '    at App\\Failing->caused (P:N)',
        '    at App\\Failing->nested (P:N)',
        '  caused by LogicException: SMTP refused (P:N)',
        '    at App\\Failing::refuse (P:N)',
        '    at App\\Failing->caused (P:N)',
        '    at App\\Failing->nested (P:N)',
      ],
    },
    {
      method: 'library',
      line: 'RuntimeException: could not send report (P:N), caused by: LogicException: SMTP refused (P:N)',
      trace: [
        'RuntimeException: could not send report (P:N)',
        '    at App\\Failing->caused (P:N)',
        '    at App\\Failing->{closure:App\\Failing::library():N} (P:N)',
        '    at App\\Failing->library (P:N)',
        '  caused by LogicException: SMTP refused (P:N)',
        '    at App\\Failing::refuse (P:N)',
        '    at App\\Failing->caused (P:N)',
        '    at App\\Failing->{closure:App\\Failing::library():N} (P:N)',
        '    at App\\Failing->library (P:N)',
      ],
    },
    {
      method: 'typeError',
      line: 'TypeError: strlen(): Argument #1 ($string) must be of type string, array given (P:N)',
      trace: [
        'TypeError: strlen(): Argument #1 ($string) must be of type string, array given (P:N)',
        '    at strlen (P:N)',
        '    at App\\Failing->typeError (P:N)',
      ],
    },
    {
      method: 'endless',
      line: `${[5000, 4999, 4998, 4997, 4996, 4995, 4994, 4993, 4992, 4991]
        .map((each) => `RuntimeException: ${each} (P:N)`)
        .join('; ')
        .replace(';', ', caused by:')}; …`,
      trace: [
        ...[5000, 4999, 4998, 4997, 4996, 4995, 4994, 4993, 4992, 4991].flatMap((each, index) => [
          `${index === 0 ? '' : '  caused by '}RuntimeException: ${each} (P:N)`,
          '    at App\\Failing->endless (P:N)',
        ]),
        '  caused by …',
      ],
    },
    {
      method: 'deep',
      line: 'RuntimeException: deep (P:N)',
      trace: ['RuntimeException: deep (P:N)', ...Array<string>(30).fill('    at App\\Failing->deep (P:N)')],
    },
  ],
}

const withoutNumbers = (text: string) =>
  text.replaceAll(/\bsrc\/(Failing\.php|failing\.ts)/g, 'P').replaceAll(/:\d+(:\d+)?(?=[)}]|$)/gm, ':N')

/** Ways that differ by who starts the method, and not by the failure. */
const waysOfOne = ({ line, trace }: Pick<Failure, 'line' | 'trace'>) => [
  { way: 'by hand as a daemon', words: ['--daemon'], says: [`${line} (more: --trace)`] },
  { way: 'with --env', words: ['--env', 'SCRIPTIFY_DEBUG=1'], says: trace },
  { way: 'as a daemon', words: ['--trace', '--daemon'], says: trace },
]

describe.concurrent.each(languages)('a failure in $name', ({ name, isThere }) => {
  let language: Language
  const bootstrap = name === 'php' ? 'SCRIPTIFY_BOOTLOADER=bootstrap.php ' : ''
  beforeAll(async () => {
    if (isThere) language = await startLanguage(name)
  })

  describe.skipIf(!isThere).each(FAILURES[name])('by $method', ({ method, line, trace }) => {
    const hint = trace.length > 1 ? ' (more: --trace)' : ''
    const byHand = [
      { way: 'by hand', words: [], says: [line + hint] },
      { way: 'under --trace', words: ['--trace'], says: trace },
    ]
    // A method of TypeScript fails in this process, but for the one that fails in every way.
    const isHere = name === 'node' && method !== 'caused'
    if (isHere)
      it('is described with what failed, why and where', async () => {
        const reference = `src/failing.ts#Failing::${method}`
        const { line: shown, trace: traced } = await failHere(language.project, reference)
        expect(shown + traced).not.toContain('s3cret')
        expect([withoutNumbers(shown), withoutNumbers(traced).split('\n')]).toEqual([line + hint, trace])
      })

    it.each([...(isHere ? [] : byHand), ...(method === 'caused' ? waysOfOne({ line, trace }) : [])])(
      'says $way what failed, why and where',
      async ({ words, says }) => {
        const { code, stdout, stderr } = await language.run([`App\\Failing::${method}`, ...words])
        expect(stderr).not.toContain('s3cret')
        expect(withoutNumbers(stderr).split('\n')).toEqual([...says, ''])
        expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      },
    )

    it.each(method === 'caused' ? ['', '1'] : [])(
      'says the same as a service, with interval %j',
      async (interval) => {
        const { code, stderr } = await language.sh(
          `${bootstrap}node_script run/run-as-service.ts 'App\\Failing::${method}' ${interval}`,
        )
        expect(withoutNumbers(stderr).split('\n')).toEqual([...trace, ''])
        expect(code).toBe(1)
      },
    )
  })

  it.skipIf(!isThere)(
    'of a bootstrap has its place, and no hint where --trace is not an option',
    async () => {
      const file = name === 'php' ? 'throwing.php' : 'throwing.ts'
      const { stderr } = await language.sh(
        `for words in "run --trace" run methods; do
           [ "$words" = methods ] && of=Probe || of=Probe::still
            SCRIPTIFY_BOOTLOADER=${file} scriptify $words "App\\\\$of"; done`,
      )
      const [type, place] = name === 'php' ? ['RuntimeException: ', ' (throwing.php:1)'] : ['', '']
      const begin = `The bootstrap ${language.project}/${file} failed: `
      expect(stderr.split('\n')).toEqual([
        `${begin}${type || 'Error: '}no luck (${file}:1)`,
        expect.stringMatching(/^ {4}at (require_once \()?throwing\.\w+:1/),
        `${begin}${type}no luck${place} (more: --trace)`,
        `${begin}${type}no luck${place}`,
        '',
      ])
    },
  )
})

it
  .skipIf(!languages.some(({ name, isThere }) => name === 'php' && isThere))
  .each(['--trace', '', '--daemon'])(
  'a fatal error in php has its message, its file and its line, with %s',
  async (option) => {
    const php = await startLanguage('php')
    const { code, stderr } = await php.run(['App\\Failing::fatal', ...(option ? [option] : [])])
    expect(code).toBe(1)
    expect(stderr).toMatch(/Fatal error: .*Twice.* in .*Failing\.php.* on line \d+/)
  },
)
