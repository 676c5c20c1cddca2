import { PassThrough, Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { createCli } from '../src/cli.ts'
import { runCli } from '../src/run-cli.ts'

export interface Ended {
  code: number
  stdout: string
  bytes: Buffer
  stderr: string
}

/** Runs a command line of scriptify without a process of its own, which is for what a shell or the kernel does with it. */
export async function runInProcess(
  args: readonly string[],
  { env = {}, input = '' }: { env?: NodeJS.ProcessEnv; input?: string | Buffer } = {},
): Promise<Ended> {
  const stdin = Readable.from(input.length > 0 ? [Buffer.from(input)] : [], { objectMode: false })
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  const context = { env, stdin, stdout, stderr }
  const written = Promise.all([buffer(stdout), text(stderr)])
  const program = await createCli({ command: args[0], context })
  const code = await runCli(program, ['node', 'scriptify', ...args], context)
  stdout.end()
  stderr.end()
  const [bytes, said] = await written
  return { code, stdout: bytes.toString(), bytes, stderr: said }
}
