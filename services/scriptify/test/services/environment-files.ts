import { anyCharacter } from '@latchkey/shared/test/any-character.ts'
import fc from 'fast-check'
import { parseEnvFile, renderEnvFile } from '../../src/services/env-file.ts'
import { type Machine, run, succeed } from './machine.ts'

const MARK = '# scriptify: managed service=x template=systemd v=1\n'
/** A folder outside /run: nothing can be copied into a memory file system. */
const FILES = '/var/lib/environment-files'
const UNIT = `[Service]
Type=oneshot
EnvironmentFile=${FILES}/%i.env
ExecStart=/bin/sh -c 'exec env -0 > ${FILES}/%i.seen'
`

const names = fc.stringMatching(/^[A-Za-z0-9_]{0,8}$/).map((text) => `V_${text}`)
const values = fc.oneof(
  fc.string({ unit: fc.constantFrom(...`"'\\$\`!#%&;|<>(){}[]*?~= \t\n\r aé漢😀`) }),
  // systemd refuses a file that contains a noncharacter of Unicode.
  fc
    .string({ unit: anyCharacter })
    .map((text) => text.toWellFormed().replaceAll(/\0|\p{Noncharacter_Code_Point}/gu, '')),
)
/** Quoted and bare parts, with escapes, that end with their line. */
const lineOfQuotes = fc
  .array(
    fc.oneof(
      fc.stringMatching(/^[\w \t$%.;#-]{1,4}$/),
      fc.constantFrom('"a b"', "'a\\b'", '"\\$x\\z"', '\\ ', '\\"', '\r'),
    ),
  )
  .map((parts) => parts.join(''))
/** A line that scriptify writes, or that an administrator may add. */
const line = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(names, values).map(([name, value]) => renderEnvFile({ [name]: value })) },
  fc.tuple(names, fc.stringMatching(/^[\w $%.-]*$/)).map(([name, value]) => `${name}='${value}'\n`),
  fc
    .tuple(fc.constantFrom('', ' ', 'export ', '\uFEFF'), names, lineOfQuotes)
    .map(([before, name, value]) => `${before}${name}=${value}\n`),
  values.map((text) => `# ${text.replaceAll(/[\n\r\\]/g, ' ')}\n`),
)
const files = fc.array(line, { maxLength: 8 }).map((lines) => MARK + lines.join(''))

export interface ReadFile {
  text: string
  /** The variables as scriptify reads them, and as systemd does: none if it refuses the file. */
  own: Record<string, string>
  systemd: Record<string, string>
}

/** Has the machine's systemd read generated environment files, all at once. */
export async function readBySystemd(
  machine: Machine,
  options: { seed: number; count: number },
): Promise<ReadFile[]> {
  const texts = fc.sample(files, { seed: options.seed, numRuns: options.count })
  await machine.copyContentToContainer([
    { content: UNIT, target: '/etc/systemd/system/environment-file@.service' },
    ...texts.map((content, index) => ({ content, target: `${FILES}/${index}.env` })),
  ])
  await succeed(machine, 'sh', '-c', `rm -f ${FILES}/*.seen; systemctl daemon-reload`)
  const units = texts.map((_, index) => `environment-file@${index}.service`)
  // Not one after the other, and without the limit of starts in ten seconds: each is a separate unit.
  await run(machine, 'systemctl', 'start', ...units)
  const seen = await succeed(
    machine,
    ...[
      'sh',
      '-c',
      `cd ${FILES} && for i in $(seq 0 ${texts.length - 1}); do base64 -w0 "$i.seen" || :; echo; done`,
    ],
  )
  return seen
    .split('\n')
    .slice(0, texts.length)
    .map((encoded, index) => {
      const text = texts[index] ?? ''
      return {
        text,
        own: parseEnvFile(text),
        systemd: variablesOf(Buffer.from(encoded, 'base64').toString()),
      }
    })
}

function variablesOf(environment: string): Record<string, string> {
  const entries = environment.split('\0').filter((entry) => entry.startsWith('V_'))
  return Object.fromEntries(
    entries.map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
  )
}
