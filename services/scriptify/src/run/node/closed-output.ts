import { EXIT } from '../../io/cli-error.ts'

/**
 * Makes writes to a pipe on stdout block, and end the process when the pipe has no reader. Node would buffer what
 * the pipe does not take and report the missing reader only after the method yields: one that never does would write
 * until its memory is exhausted.
 */
export function exitOnClosedOutput(): void {
  const { stdout } = process
  blockOnWrite(stdout)
  stdout.write = new Proxy(stdout.write, {
    apply(write, self, args) {
      const hasRoom = Reflect.apply(write, self, args)
      const { errored } = stdout
      if (errored && 'code' in errored && errored.code === 'EPIPE') process.exit(EXIT.outputClosed)
      return hasRoom
    },
  })
}

/** Node has no public API for this: https://github.com/yargs/set-blocking. */
function blockOnWrite(
  stdout: object & { _handle?: { setBlocking?: (isBlocking: boolean) => unknown } },
): void {
  stdout._handle?.setBlocking?.(true)
}
