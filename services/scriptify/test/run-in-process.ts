import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { constants } from 'node:os'
import { PassThrough, Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { createCli } from '../src/cli/cli.ts'
import { runCli } from '../src/cli/run-cli.ts'
import type { CommandWords } from '../src/io/replace-process.ts'

export interface Ended {
  code: number
  stdout: string
  stderr: string
}

interface RunOptions {
  env?: NodeJS.ProcessEnv
  input?: string | Buffer
  cwd?: string
  /** True where standard output is a terminal. */
  isTTY?: boolean
  /** Starts the program that scriptify turns into. Default: on this machine. */
  startProgram?(command: CommandWords, env: NodeJS.ProcessEnv): ChildProcessWithoutNullStreams
}

/**
 * Runs a command line of scriptify without a separate process, which is for what a shell or the kernel does with it. The
 * program that it turns into is one, in the folder `cwd`.
 */
export async function runInProcess(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const { code, bytes, stderr } = await runForBytes(args, options)
  return { code, stdout: bytes.toString(), stderr }
}

/** The same, with standard output as it is. */
export async function runForBytes(
  args: readonly string[],
  { env = {}, input = '', cwd, isTTY = false, startProgram }: RunOptions,
): Promise<{ code: number; bytes: Buffer; stderr: string }> {
  const stdin = Readable.from(input.length > 0 ? [Buffer.from(input)] : [], { objectMode: false })
  const stdout = Object.assign(new PassThrough(), { isTTY })
  const stderr = new PassThrough()
  const startHere = ([file, ...words]: CommandWords, env: NodeJS.ProcessEnv) =>
    spawn(file, words, { cwd, env, stdio: 'pipe' })
  const replace = (command: CommandWords, env: NodeJS.ProcessEnv) => {
    const child = (startProgram ?? startHere)(command, env)
    child.stdin.on('error', () => undefined).end(input)
    child.stdout.pipe(stdout, { end: false })
    child.stderr.pipe(stderr, { end: false })
    return exitCodeOf(child)
  }
  const context = { env, stdin, stdout, stderr, replace }
  const written = Promise.all([buffer(stdout), text(stderr)])
  const program = await createCli({ command: args[0], context })
  const code = await runCli(program, ['node', 'scriptify', ...args], context)
  stdout.end()
  stderr.end()
  const [bytes, said] = await written
  return { code, bytes, stderr: said }
}

/** The exit code as a shell shows it: 128 + n after signal n. */
const exitCodeOf = (child: ChildProcess): Promise<number> =>
  new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)))
  })
