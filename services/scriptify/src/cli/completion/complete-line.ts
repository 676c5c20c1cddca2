import type { Argument, Command, Option } from 'commander'
import { type Candidate, type Candidates, splitLine } from './shells.ts'

/** What is looked up: a project's classes and methods, and the services of this machine. */
export interface CompletionSources {
  services(): Promise<readonly Candidate[]>
  /** References of `run` that begin with a text; of a project's folder, or of the current one. */
  references(text: string, rootdir: string | undefined): Promise<readonly Candidate[]>
}

const HTTP_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']

/** Completes the last word of a command line that ends at the cursor; `load` gives the program with that command at least. */
export async function completeLine(
  line: string,
  load: (command: string | undefined) => Promise<Command>,
  sources: CompletionSources,
): Promise<Candidates> {
  const words = splitLine(line).map(({ value }) => value)
  const [name, ...more] = words.slice(1 + words.findIndex((word) => /(^|\/)scriptify$/.test(word)))
  const program = await load(more.length === 0 ? undefined : name)
  if (more.length === 0)
    return startingWith(name ?? '', [...describeCommands(program), ...describeOptions(program)])
  const command = program.commands.find((known) => known.name() === name)
  return command === undefined
    ? []
    : completeWord(command, { typed: more.slice(0, -1), current: more.at(-1) ?? '', sources })
}

interface Typed {
  /** The words between the command and the cursor. */
  readonly typed: readonly string[]
  /** The word at the cursor. */
  readonly current: string
  readonly sources: CompletionSources
}

async function completeWord(command: Command, { typed, current, sources }: Typed): Promise<Candidates> {
  const [name = '', value] = splitOption(current)
  if (value !== undefined) {
    const found = await completeWord(command, { typed: [...typed, name], current: value, sources })
    return found?.map((candidate) => ({ ...candidate, value: `${name}=${candidate.value}` }))
  }
  const given = typed.flatMap(splitOption)
  const options = given.map((word) => findOption(command, word))
  const index = options.findLastIndex((option) => option?.long === '--rootdir')
  const lookUp = { current, sources, rootdir: index === -1 ? undefined : given[index + 1] }
  const awaiting = options.at(-1)
  if (awaiting !== undefined && takesValue(awaiting)) return valuesOf(awaiting, lookUp)
  const operands = given.filter((word, index) => {
    const before = options[index - 1]
    return !word.startsWith('-') && !(before && takesValue(before))
  })
  const argument =
    command.registeredArguments[operands.length] ??
    command.registeredArguments.find(({ variadic }) => variadic)
  return argument === undefined || current.startsWith('-')
    ? startingWith(current, describeOptions(command))
    : valuesOf(argument, lookUp)
}

async function valuesOf(
  completed: Option | Argument,
  { current, sources, rootdir }: Omit<Typed, 'typed'> & { rootdir: string | undefined },
): Promise<Candidates> {
  if (completed.argChoices) return startingWith(current, completed.argChoices.map(toCandidate))
  if ('flags' in completed && /<(file|dir|path)>/.test(completed.flags)) return undefined
  switch (completed.name()) {
    case 'service':
      return startingWith(current, await sources.services())
    case 'method':
    case 'class': {
      const found = await sources.references(current, rootdir)
      // A method may also be one of a file.
      return found.length === 0 ? undefined : found
    }
    case 'METHOD':
      return startingWith(current.toUpperCase(), HTTP_METHODS.map(toCandidate))
    default:
      return []
  }
}

/** The name and the value of `--name=value`; any other word as it is. */
const splitOption = (word: string): string[] => /^(--[^=]+)=([\s\S]*)$/.exec(word)?.slice(1) ?? [word]

const findOption = (command: Command, word: string): Option | undefined =>
  command.options.find(({ long, short }) => long === word || short === word)

const takesValue = ({ required, optional }: Option): boolean => required || optional

const describeCommands = (program: Command): Candidate[] =>
  program.commands.map((command) => ({
    value: command.name(),
    description: command.summary() || firstSentence(command.description()),
  }))

const describeOptions = (command: Command): Candidate[] =>
  [...command.options.filter(({ hidden }) => !hidden), { long: '--help', description: 'show the help' }].map(
    ({ long, description }) => ({ value: long ?? '', description }),
  )

const firstSentence = (text: string): string => text.split('\n')[0] ?? ''
const toCandidate = (value: string): Candidate => ({ value, description: '' })

const startingWith = (current: string, candidates: readonly Candidate[]): Candidate[] =>
  candidates.filter(({ value }) => value.startsWith(current))
