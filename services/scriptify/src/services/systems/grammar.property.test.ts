import { execFileSync, type StdioOptions } from 'node:child_process'
import { anyCharacter } from '@latchkey/shared/test/any-character.ts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { aService } from '../../../test/services/a-service.ts'
import { CliError, EXIT } from '../../io/cli-error.ts'
import { renderService } from '../install/render-service.ts'
import { hasControls, quoteShellWord } from '../text.ts'
import { crond } from './crond.ts'
import { parseSchedule } from './crontab-schedule.ts'
import { escapeSystemdValue, quoteSystemdWord } from './systemd-grammar.ts'
import { quoteUpstartString } from './upstart.ts'

/** Standard streams without an input: bash takes a socket there for a remote shell, and reads ~/.bashrc. */
const QUIET: StdioOptions = ['ignore', 'pipe', 'inherit']

const SPECIAL = `"'\\$\`%;#!|&<>(){}[]*?~= \t\n\r\u0001\u007f\u0085aexn0é漢😀`
const words = fc
  .oneof(fc.string({ unit: fc.constantFrom(...SPECIAL) }), fc.string({ unit: anyCharacter }))
  .map((text) => text.replaceAll('\0', '').toWellFormed())

/** The number of lists of words that one shell reads: its start takes longer. */
const LISTS = 10
const lists = fc.array(words, { minLength: 1, maxLength: 20 })

it.each(['/bin/sh', '/bin/bash'])('a word for a shell is given back by %s', (shell) => {
  fc.assert(
    fc.property(fc.array(lists, { minLength: LISTS, maxLength: LISTS }), (given) => {
      const script = given.map((list) => `printf '%s\\0' ${list.map(quoteShellWord).join(' ')}`).join('\n')
      const seen = execFileSync(shell, ['-c', script], { encoding: 'utf8', stdio: QUIET })
      expect(seen.split('\0').slice(0, -1)).toEqual(given.flat())
    }),
    { numRuns: 60 / LISTS },
  )
})

const CONTROL: Readonly<Record<string, string>> = {
  ...{ a: '\u0007', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v', s: ' ' },
  ...{ '\\': '\\', '"': '"', "'": "'" },
}

/** Splits an ExecStart line as systemd.service(5), "Command lines", and systemd.unit(5), "Specifiers", say. */
function readCommandLine(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"(?: |$)/gsu)].map(([, quoted = '']) => {
    const bytes = [...quoted.matchAll(/\\x([0-9a-f]{2})|\\(.)|(%%|\$\$)|([^%$])/gsu)].map(
      ([whole, byte, escaped, doubled, plain]) => {
        if (byte) return Buffer.from(byte, 'hex')
        if (escaped) return Buffer.from(CONTROL[escaped] ?? `unknown escape ${whole}`)
        return Buffer.from(plain ?? doubled?.slice(1) ?? '')
      },
    )
    return Buffer.concat(bytes).toString('utf8')
  })
}

describe('a unit of systemd', () => {
  it('has command lines of one line, from which its grammar reads the words', () => {
    fc.assert(
      fc.property(fc.array(words, { maxLength: 6 }), (given) => {
        const line = given.map(quoteSystemdWord).join(' ')
        expect(line).not.toMatch(/\p{Cc}/u)
        expect(line.replaceAll(/%%|\$\$/g, ''), 'specifiers and variables').not.toMatch(/[%$]/)
        expect(readCommandLine(line)).toEqual(given)
      }),
      { numRuns: 1000 },
    )
  })

  it('has values without specifiers', () => {
    fc.assert(
      fc.property(words, (given) => {
        const value = escapeSystemdValue(given)
        expect(value.replaceAll('%%', '')).not.toContain('%')
        expect(value.replaceAll('%%', '%')).toBe(given)
      }),
    )
  })
})

it('a string of upstart ends at its last quote', () => {
  fc.assert(
    fc.property(words, (given) => {
      const [whole, inner = ''] = /^"((?:[^"\\]|\\.)*)"/su.exec(quoteUpstartString(given)) ?? []
      expect(whole).toBe(quoteUpstartString(given))
      expect(inner.replaceAll(/\\(.)/gsu, '$1')).toBe(given)
    }),
  )
})

describe('a crontab', () => {
  const lines = words.filter((text) => !hasControls(text))
  const definitions = fc
    .record({ description: lines, rootdir: lines, argument: words, schedule: schedules() })
    .map(({ argument, rootdir, ...given }) =>
      aService({
        ...given,
        ...{ root: '/', environment: { SOME: argument } },
        rootdir: `/srv/${rootdir}`,
        command: ['/usr/bin/node', argument],
      }),
    )

  it('has one job, at its schedule, and no % that cron would read as a line end', async () => {
    const property = fc.asyncProperty(definitions, async (service) => {
      const unit = (await renderService(service, crond)).at(-1)
      const jobs = unit?.content.split('\n').filter((line) => !/^(#|[A-Z]+=|$)/.test(line))
      expect(jobs).toEqual([`${service.schedule} root /etc/scriptify/importer.run`])
    })
    await fc.assert(property, { numRuns: 150 })
  })

  it('has a schedule that is refused or of the grammar of crontab(5)', () => {
    const nearly = fc
      .array(
        fc.oneof(
          fc.stringMatching(/^[0-9*,/-]{1,5}$/),
          fc.constantFrom('*', '0', 'mon', 'sun', 'JAN', '@daily', '%', 'L'),
        ),
        {
          minLength: 4,
          maxLength: 6,
        },
      )
      .map((fields) => fields.join(' '))
    fc.assert(
      fc.property(fc.oneof(words, nearly, schedules()), (text) => {
        const schedule = parseOrRefuse(text)
        if (schedule === undefined) return
        expect(schedule).toMatch(/^(@[a-z]+|[\dA-Za-z*,/-]+( [\dA-Za-z*,/-]+){4})$/)
        expect(parseSchedule(schedule), 'parsed twice').toBe(schedule)
      }),
      { numRuns: 1000 },
    )
  })

  it('takes every schedule of numbers, ranges and steps within their bounds', () => {
    fc.assert(
      fc.property(schedules(), (schedule) => {
        expect(parseSchedule(schedule)).toBe(schedule)
      }),
      { numRuns: 500 },
    )
  })
})

/** Five fields of numbers, ranges and steps; the day of the month is one that every month has. */
function schedules(): fc.Arbitrary<string> {
  const field = (low: number, high: number) => {
    const number = fc.integer({ min: low, max: high })
    const step = fc.option(fc.integer({ min: 1, max: high - low }), { nil: undefined })
    const stepped = (range: string, by: number | undefined) => (by === undefined ? range : `${range}/${by}`)
    const range = fc
      .tuple(number, number, step)
      .map(([a, b, by]) => stepped(`${Math.min(a, b)}-${Math.max(a, b)}`, by))
    const item = fc.oneof(
      number.map(String),
      range,
      step.map((by) => stepped('*', by)),
    )
    return fc.array(item, { minLength: 1, maxLength: 3 }).map((items) => items.join(','))
  }
  return fc
    .tuple(field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 7))
    .map((fields) => fields.join(' '))
}

function parseOrRefuse(text: string): string | undefined {
  try {
    return parseSchedule(text)
  } catch (error) {
    if (error instanceof CliError && error.exitCode === EXIT.usage) return undefined
    throw error
  }
}
