import type { Command, Option } from 'commander'
import { splitLine } from './shell-words.ts'

export interface Candidate {
  readonly value: string
  readonly description: string
}

/** What a line may go on with; undefined for the name of a file, which the shell itself completes. */
export type Candidates = readonly Candidate[] | undefined

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
  const first = words.findIndex((word) => /(^|\/)scriptify$/.test(word))
  const [current = '', ...before] = words.slice(first + 1).reverse()
  const typed = before.reverse()
  const program = await load(typed[0])
  const command = program.commands.find((known) => known.name() === typed[0])
  if (command === undefined && typed.length > 0) return []
  if (command === undefined)
    return startingWith(current, [...describeCommands(program), ...describeOptions(program)])
  return completeOf(command, { typed: typed.slice(1), current }, sources)
}

interface Typed {
  /** The words after the command. */
  readonly typed: readonly string[]
  readonly current: string
}

async function completeOf(
  command: Command,
  { typed, current }: Typed,
  sources: CompletionSources,
): Promise<Candidates> {
  const rootdir = valueGiven(command, '--rootdir', typed)
  const [, name = '', value] = /^(--[^=]+)=([\s\S]*)$/.exec(current) ?? []
  if (value !== undefined) {
    const found = await valuesOf(findOption(command, name), value, { rootdir, sources })
    return found?.map((candidate) => ({ ...candidate, value: `${name}=${candidate.value}` }))
  }
  const option = takingValue(command, typed)
  if (option !== undefined) return valuesOf(option, current, { rootdir, sources })
  if (current.startsWith('-')) return startingWith(current, describeOptions(command))
  const position = positionOf(command, typed)
  const argument = command.registeredArguments[position]
  if (argument === undefined) return startingWith(current, describeOptions(command))
  return valuesOf({ name: () => argument.name(), argChoices: argument.argChoices }, current, {
    rootdir,
    sources,
  })
}

interface Completed {
  name(): string
  argChoices?: readonly string[] | undefined
  flags?: string
}

async function valuesOf(
  completed: Completed | undefined,
  current: string,
  { rootdir, sources }: { rootdir: string | undefined; sources: CompletionSources },
): Promise<Candidates> {
  if (completed?.argChoices) return startingWith(current, completed.argChoices.map(toCandidate))
  if (/<(file|dir|path)>/.test(completed?.flags ?? '')) return undefined
  switch (completed?.name()) {
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

/** The option whose value the last typed word waits for. */
function takingValue(command: Command, typed: readonly string[]): Option | undefined {
  const option = findOption(command, typed.at(-1) ?? '')
  return option && takesValue(option) ? option : undefined
}

/** The last value of an option among the typed words. */
function valueGiven(command: Command, long: string, typed: readonly string[]): string | undefined {
  const index = typed.findLastIndex((word) => findOption(command, word)?.long === long)
  if (index !== -1) return typed[index + 1]
  return typed.findLast((word) => word.startsWith(`${long}=`))?.slice(long.length + 1)
}

/** How many of the typed words are arguments. */
function positionOf(command: Command, typed: readonly string[]): number {
  return typed.filter((word, index) => {
    const before = index === 0 ? undefined : takingValue(command, typed.slice(0, index))
    return before === undefined && !word.startsWith('-')
  }).length
}

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
