import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { printableLines } from '@latchkey/text/printable.ts'
import type { CliContext } from '../io/cli-context.ts'
import { CliError, EXIT, errorCode } from '../io/cli-error.ts'
import { type CommandWords, replaceProcess } from '../io/replace-process.ts'
import type { InitSystem } from './init-system.ts'
import { SYSTEM_PATH } from './paths.ts'
import { runCommand } from './run-command.ts'

interface LogOptions {
  lines: number
  /** Whether new lines are shown too, until Ctrl-C. */
  follow: boolean
}

/** The time in front of a line, and in the journal the process. */
const PREFIX = /^\d{4}-\d\d-\d\dT\S+ (?:\S+\[\d+\]: )?/
/** A log may be large: its last line is looked for in these many bytes and lines at its end, as many as a failure has. */
const TAIL_BYTES = 65_536
const TAIL_LINES = 400

/**
 * Prints the end of a service's log by the system's own tool; resolves with its exit code. That replaces this process unless
 * standard output is a terminal, which gets no byte that it would act on. Throws 3 without a log or a tool, 4 without
 * permission.
 */
export async function printLog(
  name: string,
  system: InitSystem,
  { env, stdout, ...options }: LogOptions & Pick<CliContext, 'env' | 'stdout'>,
): Promise<number> {
  const [file, ...args] = await logCommand(name, system, options)
  const command = [findProgram(file), ...args] as const
  const environment = { ...env, PATH: SYSTEM_PATH }
  return stdout.isTTY ? showOutput(command, environment, stdout) : replaceProcess(command, environment)
}

async function showOutput(
  [file, ...args]: CommandWords,
  env: NodeJS.ProcessEnv,
  stdout: Writable,
): Promise<number> {
  const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  for await (const text of child.stdout.setEncoding('utf8')) stdout.write(printableLines(text))
  const [code] = await ended
  return code ?? EXIT.failed
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

/** The last line that a service has written, of a failure its first one; undefined where it is unknown. */
export async function lastLogLine(name: string, system: InitSystem): Promise<string | undefined> {
  const text = await readEnd(name, system).catch(() => '')
  const lines = text.split('\n').map((line) => line.replace(PREFIX, ''))
  // What is indented tells more of the line above it.
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
  { lines, follow }: LogOptions,
): Promise<readonly [string, ...string[]]> {
  const log = system.log(name)
  if (!('file' in log)) {
    if (log.isReadable()) return log.read({ lines, follow })
    throw new CliError(`The log of ${name} is readable by root only: use sudo`, EXIT.notPermitted)
  }
  await requireReadable(name, log.file)
  return ['tail', '--lines', `${lines}`, ...(follow ? ['--follow=name', '--retry'] : []), log.file]
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
