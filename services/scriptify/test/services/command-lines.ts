import { anyCharacter } from '@latchkey/shared/test/any-character.ts'
import fc from 'fast-check'
import { quoteSystemdWord } from '../../src/services/systems/systemd-grammar.ts'
import { type Machine, run, succeed } from './machine.ts'

/** A folder outside /run: nothing can be copied into a memory file system. */
const FILES = '/var/lib/command-lines'
const RECORD = `out=$1
shift
for word; do printf '%s\\0' "$word"; done > "$out"
`

const SPECIAL = `"'\\$\`%;#!|&<>(){}[]*?~=@+:- \t\n\r\u0001\u007f\u0085aexn0é漢😀`
const words = fc
  .oneof(fc.string({ unit: fc.constantFrom(...SPECIAL) }), fc.string({ unit: anyCharacter }))
  // systemd refuses a unit that contains a noncharacter of Unicode.
  .map((text) => text.toWellFormed().replaceAll(/\0|\p{Noncharacter_Code_Point}/gu, ''))
const commandLines = fc.array(words, { minLength: 1, maxLength: 8 })

export interface SeenWords {
  given: string[]
  seen: string[]
}

/** Has the machine's systemd run generated command lines, all at once; returns the words that the programs received. */
export async function runBySystemd(
  machine: Machine,
  { seed, count }: { seed: number; count: number },
): Promise<SeenWords[]> {
  const lines = fc.sample(commandLines, { seed, numRuns: count })
  await machine.copyContentToContainer([
    { content: RECORD, target: `${FILES}/record` },
    ...lines.map((given, index) => ({
      content: toUnit(['/bin/sh', `${FILES}/record`, `${FILES}/${index}.seen`, ...given]),
      target: `/etc/systemd/system/command-line-${index}.service`,
    })),
  ])
  await succeed(machine, 'sh', '-c', `rm -f ${FILES}/*.seen; systemctl daemon-reload`)
  await run(machine, 'systemctl', 'start', ...lines.map((_, index) => `command-line-${index}.service`))
  const script = `cd ${FILES} && for i in $(seq 0 ${count - 1}); do base64 -w0 "$i.seen" || :; echo; done`
  const seen = (await succeed(machine, 'sh', '-c', script)).split('\n')
  return lines.map((given, index) => ({
    given,
    seen: Buffer.from(seen[index] ?? '', 'base64')
      .toString()
      .split('\0')
      .slice(0, -1),
  }))
}

const toUnit = (command: readonly string[]): string =>
  `[Service]\nType=oneshot\nExecStart=${command.map(quoteSystemdWord).join(' ')}\n`
