import { spawn } from 'node:child_process'
import { once } from 'node:events'

interface RunOptions {
  /** For `$1` and those after it. */
  args?: readonly string[]
  /** Its standard input; the keyboard by default. */
  input?: string
  env?: NodeJS.ProcessEnv
}

interface Ended {
  /** Null for a program that a signal has ended. */
  code: number | null
  signal: NodeJS.Signals | null
}

/** Runs a program of the user on this terminal until it ends. By a shell, because $EDITOR and $PAGER may have arguments: `less -S`. */
export async function runOnTerminal(
  commandLine: string,
  { args = [], input, env = process.env }: RunOptions,
): Promise<Ended> {
  const stdin = input === undefined ? 'inherit' : 'pipe'
  const child = spawn('/bin/sh', ['-c', commandLine, 'sh', ...args], {
    stdio: [stdin, 'inherit', 'inherit'],
    env,
  })
  // It learns that the window was closed once this process has ended.
  child.unref()
  // The user may leave before the end of the input.
  child.stdin?.on('error', () => {})
  child.stdin?.end(input)
  const [code, signal] = await once(child, 'exit')
  return { code, signal }
}
