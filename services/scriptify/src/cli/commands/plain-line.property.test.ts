import fc from 'fast-check'
import { expect, it } from 'vitest'
import { readPlainLine } from './plain-line.ts'
import { createTerminalCommand } from './terminal.ts'
import { TERMINAL_OPTIONS, toTerminalOptions } from './terminal-options.ts'

const spellings = TERMINAL_OPTIONS.flatMap(({ flags }) => flags.replace(/ <.*/, '').split(', '))
const words = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...spellings) },
    { weight: 2, arbitrary: fc.constantFrom('php', 'node', 'importer', 'A=1', 'B=-2') },
    fc.constantFrom('', '-', '--', '-xp', '--env=C=3', '--help', '--nope', '-p-', '--no-print', 'help'),
  ),
  { maxLength: 6 },
)

/** Undefined for a line that commander refuses, or answers with its help. */
function readByCommander(line: string[]) {
  const command = createTerminalCommand()
    .exitOverride()
    .configureOutput({ writeOut() {}, writeErr() {} })
  const action = { options: undefined as unknown }
  command.action((service, values) => {
    action.options = toTerminalOptions(service, values)
  })
  try {
    command.parse(line, { from: 'user' })
  } catch {
    return undefined
  }
  return action.options
}

it('reads each line that it takes as commander does', () => {
  let taken = 0
  fc.assert(
    fc.property(words, (line) => {
      const plain = readPlainLine(line, TERMINAL_OPTIONS)
      if (plain === undefined) return
      taken += 1
      expect(toTerminalOptions(plain.operand, plain.values)).toEqual(readByCommander(line))
    }),
    { numRuns: 2000 },
  )
  expect(taken).toBeGreaterThan(200)
})

it.each([
  ['--runtime', 'node', '--no-history', '--no-preload'],
  ['importer', '-e', 'A=1', '--env', 'B=2', '-r', '/srv/app'],
  ['-x', '1 + 1', '--print', '--keep-going', '--write'],
])('takes what is typed day by day: %s', (...line) => {
  expect(readPlainLine(line, TERMINAL_OPTIONS)).toBeDefined()
})

it.each([['--runtime', 'ruby'], ['a', 'b'], ['-x'], ['-x', '-1'], ['--sandbox', '--write'], ['--'], ['-h']])(
  'leaves to commander: %s',
  (...line) => {
    expect(readPlainLine(line, TERMINAL_OPTIONS)).toBeUndefined()
  },
)
