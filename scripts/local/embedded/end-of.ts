import type { ChildProcess } from 'node:child_process'

export interface Ended {
  stdout: string
  stderr: string
  /** How it failed; undefined when it succeeded. */
  failure: string | undefined
}

/** Waits for a child process to end. Never throws: a command that cannot be started is a failure like others. */
export async function endOf(child: ChildProcess): Promise<Ended> {
  const output = { stdout: '', stderr: '' }
  child.stdout?.on('data', (chunk) => {
    output.stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    output.stderr += chunk
  })
  const failure = await new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(code === 0 ? undefined : `ended with ${signal ?? code}`))
  })
  return { ...output, failure }
}
