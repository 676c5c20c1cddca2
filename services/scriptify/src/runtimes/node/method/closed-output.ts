import { EXIT } from '../../../exit-codes.ts'

/**
 * From now on writes to a pipe on standard output at once, and ends the process when nobody reads there any more. Node
 * would put off what the pipe does not take, and tell that the reader has left, until the method lets it: one that
 * writes without a pause would go on until its memory is exhausted.
 */
export function endWithReader(): void {
  const { stdout } = process
  blockingWrites(stdout)
  stdout.write = new Proxy(stdout.write, {
    apply(write, self, args) {
      const hasRoom = Reflect.apply(write, self, args)
      const { errored } = stdout
      if (errored && 'code' in errored && errored.code === 'EPIPE') process.exit(EXIT.outputClosed)
      return hasRoom
    },
  })
}

/** There is no public way: https://github.com/yargs/set-blocking. */
function blockingWrites(
  stdout: object & { _handle?: { setBlocking?: (isBlocking: boolean) => unknown } },
): void {
  stdout._handle?.setBlocking?.(true)
}
