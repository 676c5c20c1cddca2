import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { printableLines } from '@latchkey/text/printable.ts'
import type { CliContext } from '../io/cli-context.ts'
import { CliError, EXIT, errorCode } from '../io/cli-error.ts'
import { type CommandWords, replaceProcess } from '../io/replace-process.ts'
import type { InitSystem } from './init-system.ts'
import { SYSTEM_PATH } from './paths.ts'
import { runCommand } from './run-command.ts'

interface LogOptions {
  /** The number of last lines that are shown; by default 50, or all since a time. */
  readonly lines?: number | undefined
  /** True where new lines are shown too, until Ctrl-C. */
  readonly follow: boolean
  readonly since?: Date | undefined
  /** The pattern that a line has to match. */
  readonly grep?: RegExp | undefined
}

interface LoggedService {
  readonly name: string
  readonly system: InitSystem
}

/** The time in front of a line, and in the journal the process. */
const TIME = /^(\d{4}-\d\d-\d\dT\S+) /
const PREFIX = /^\d{4}-\d\d-\d\dT\S+ (?:\S+\[\d+\]: )?/
/** A log may be large: its last line is looked for in these many bytes and lines at its end, as many as a failure has. */
const TAIL_BYTES = 65_536
const TAIL_LINES = 400
const DEFAULT_LINES = 50

/**
 * Prints the end of the logs of services, in the order of time; resolves with an exit code. Where one log goes to a file or a
 * pipe as it is, the system's own tool replaces this process; a terminal gets no byte that it would act on. Throws 3 without
 * a log or a tool, 4 without permission.
 */
export async function printLogs(
  services: readonly LoggedService[],
  options: LogOptions,
  { env, stdout }: Pick<CliContext, 'env' | 'stdout'>,
): Promise<number> {
  const { follow, since, grep } = options
  const lines = options.lines ?? (since === undefined ? DEFAULT_LINES : Number.POSITIVE_INFINITY)
  const filtered = grep !== undefined || since !== undefined
  // A match may be in any line of the past; new lines are searched as they come.
  const read = { lines: filtered && !follow ? Number.POSITIVE_INFINITY : lines, follow, since }
  const sources: Source[] = []
  for (const { name, system } of services)
    sources.push({ name, command: await logCommand(name, system, read) })
  const environment = { ...env, PATH: SYSTEM_PATH }
  const [first] = sources
  if (first !== undefined && sources.length === 1 && !filtered && !stdout.isTTY)
    return replaceProcess(first.command, environment)
  const children = sources.map(({ name, command: [file, ...args] }) => ({
    name: sources.length === 1 ? undefined : name,
    process: spawn(file, args, { env: environment, stdio: ['ignore', 'pipe', 'inherit'] }),
  }))
  const codes = Promise.all(children.map(({ process }) => exitCodeOf(process)))
  const write = (text: string) => stdout.write(`${stdout.isTTY ? printableLines(text) : text}\n`)
  const entries = children.map(({ name, process }) => readEntries(name, process, { since, grep }))
  if (follow) {
    endWithThis(children.map(({ process }) => process))
    await Promise.all(
      entries.map(async (each) => {
        for await (const { text } of each) write(text)
      }),
    )
  } else {
    const found = await Promise.all(entries.map((each) => lastOf(each, lines)))
    const ordered = found.flat().sort((one, other) => one.time - other.time)
    for (const { text } of ordered.slice(-lines)) write(text)
  }
  return Math.max(...(await codes))
}

interface Source {
  readonly name: string
  readonly command: CommandWords
}

interface Entry {
  readonly time: number
  readonly text: string
}

/** The lines that a tool prints and that are asked for, with `name` in front of those of a file. */
async function* readEntries(
  name: string | undefined,
  { stdout }: ChildProcess,
  { since, grep }: Pick<LogOptions, 'since' | 'grep'>,
): AsyncGenerator<Entry> {
  if (stdout === null) return
  let time = 0
  for await (const line of createInterface(stdout)) {
    const [stamp = '', at] = TIME.exec(line) ?? []
    // A line without a time goes on with the message of the line above it.
    if (at !== undefined) time = Date.parse(at)
    if ((since !== undefined && time < since.getTime()) || grep?.test(line.replace(PREFIX, '')) === false)
      continue
    const isLabelled =
      name === undefined || at === undefined || /^\S+\[\d+\]: /.test(line.slice(stamp.length))
    yield { time, text: isLabelled ? line : `${stamp}${name}: ${line.slice(stamp.length)}` }
  }
}

async function lastOf(entries: AsyncIterable<Entry>, count: number): Promise<Entry[]> {
  const last: Entry[] = []
  for await (const entry of entries) {
    last.push(entry)
    if (last.length > count) last.shift()
  }
  return last
}

/** The exit code as a shell has it: 128 + n after signal n. */
async function exitCodeOf(child: ChildProcess): Promise<number> {
  await once(child, 'close')
  return child.exitCode ?? 128 + (child.signalCode === null ? 0 : constants.signals[child.signalCode])
}

/** Passes on the signals that end this process to tools that would go on. */
function endWithThis(children: readonly ChildProcess[]): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => {
      for (const child of children) child.kill(signal)
    })
}

/** The absolute path of one of the system's programs. */
function findProgram(file: string): string {
  const paths = SYSTEM_PATH.split(':').map((folder) => join(folder, file))
  const found = paths.find((path) => existsSync(path))
  if (found !== undefined) return found
  throw new CliError(`${file} is missing on this machine: install the package that has it`, EXIT.notFound)
}

/** Says where the output of a service is. */
export function logOf(name: string, system: InitSystem): string {
  const log = system.log(name)
  return 'file' in log ? log.file : log.command
}

/** The last line that a service has written since a time, of a failure its first one; undefined where it is unknown. */
export async function lastLogLine(
  name: string,
  system: InitSystem,
  since = Number.NEGATIVE_INFINITY,
): Promise<string | undefined> {
  const text = await readEnd(name, system).catch(() => '')
  const isOld = (line: string) => Date.parse(TIME.exec(line)?.[1] ?? '') < since
  const lines = text.split('\n').map((line) => (isOld(line) ? '' : line.replace(PREFIX, '')))
  // An indented line only continues the line above it.
  return (lines.findLast((line) => /^\S/.test(line)) ?? lines.findLast((line) => line.trim()))?.trim()
}

async function readEnd(name: string, system: InitSystem): Promise<string> {
  const log = system.log(name)
  if (!('file' in log)) {
    const words = log.read({ lines: TAIL_LINES, follow: false })
    return (await runCommand(words, { timeoutMs: 20_000 })).stdout
  }
  await using file = await open(log.file)
  const { size } = await file.stat()
  const length = Math.min(size, TAIL_BYTES)
  const { buffer } = await file.read({ buffer: Buffer.alloc(length), position: size - length })
  return buffer.toString()
}

async function logCommand(
  name: string,
  system: InitSystem,
  options: { lines: number; follow: boolean; since: Date | undefined },
): Promise<CommandWords> {
  const log = system.log(name)
  const [file, ...args] = 'file' in log ? await tailCommand(name, log.file, options) : log.read(options)
  if (!('file' in log) && !log.isReadable())
    throw new CliError(`The log of ${name} is readable by root only: use sudo`, EXIT.notPermitted)
  return [findProgram(file), ...args]
}

async function tailCommand(
  name: string,
  path: string,
  { lines, follow, since }: { lines: number; follow: boolean; since: Date | undefined },
): Promise<CommandWords> {
  await requireReadable(name, path)
  const count = Number.isFinite(lines) && since === undefined ? `${lines}` : '+1'
  return ['tail', '--lines', count, ...(follow ? ['--follow=name', '--retry'] : []), path]
}

async function requireReadable(name: string, path: string): Promise<void> {
  try {
    await using _file = await open(path)
  } catch (error) {
    if (errorCode(error) === 'EACCES') {
      throw new CliError(`${path} is readable by root only: use sudo`, EXIT.notPermitted)
    }
    if (errorCode(error) !== 'ENOENT') throw error
    throw new CliError(`${name} has written nothing yet: ${path} does not exist`, EXIT.notFound)
  }
}
