import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { constants } from 'node:os'
import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-codes.ts'
import { ask } from './control.ts'
import type { InitSystem } from './init-system.ts'
import { SYSTEM_PATH } from './paths.ts'

interface LogOptions {
  lines: number
  /** Goes on with new lines until Ctrl-C. */
  follow: boolean
}

/** A log may be large: its last line is looked for in this many bytes at its end. */
const TAIL_BYTES = 4096

/**
 * Prints the end of a service's log by the system's own tool; resolves with the exit code. Throws 3 without a log, 4
 * without permission.
 */
export async function printLog(name: string, system: InitSystem, options: LogOptions): Promise<number> {
  const [file, ...args] = await logCommand(name, system, options)
  const child = spawn(file, args, { stdio: 'inherit', env: { ...process.env, PATH: SYSTEM_PATH } })
  // Ctrl-C ends the tool, whose exit code counts.
  process.on('SIGINT', () => {})
  await once(child, 'exit')
  return child.exitCode ?? 128 + (child.signalCode === null ? 0 : constants.signals[child.signalCode])
}

/** The last line that a service has written; undefined where it is unknown. */
export async function lastLogLine(name: string, system: InitSystem): Promise<string | undefined> {
  const text = await readEnd(name, system).catch(() => '')
  return text.trimEnd().split('\n').at(-1)?.trim() || undefined
}

async function readEnd(name: string, system: InitSystem): Promise<string> {
  const log = system.log(name)
  if (!('file' in log)) {
    const words = system.readLog?.(name, { lines: 1, follow: false })
    return words === undefined ? '' : (await ask(words, { timeoutMs: 20_000 })).stdout
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
    const words = system.readLog?.(name, { lines, follow })
    if (words === undefined) throw new CliError(`See ${log.command}`, EXIT.usage)
    return words
  }
  await demandReadable(name, log.file)
  return ['tail', '--lines', `${lines}`, ...(follow ? ['--follow=name', '--retry'] : []), log.file]
}

async function demandReadable(name: string, path: string): Promise<void> {
  try {
    await using _file = await open(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EACCES') {
      throw new CliError(`${path} is readable by root only: use sudo`, EXIT.notPermitted)
    }
    throw new CliError(`${name} has written nothing yet: ${path} does not exist`, EXIT.notFound)
  }
}
