import { EXIT, errorCode } from './cli-error.ts'

type Stream = object & { _handle?: { setBlocking?: (isBlocking: boolean) => unknown } }

/** Makes reads and writes block, as other programs expect it of the streams that they inherit from Node. */
export function blockOnUse(stream: Stream): void {
  // Node has no public API for this: https://github.com/yargs/set-blocking.
  stream._handle?.setBlocking?.(true)
}

/**
 * Makes writes to a pipe on stdout block, and end the process when a write fails. Node would buffer what the pipe does
 * not take, report the missing reader only after the method yields (one that never does would write until its memory is
 * exhausted), and not report a full disk to a method that writes with console.log.
 */
export function exitOnFailedOutput(): void {
  const { stdout } = process
  blockOnUse(stdout)
  stdout.write = new Proxy(stdout.write, {
    apply(write, self, args) {
      const hasRoom = Reflect.apply(write, self, args)
      if (stdout.errored) exitBy(stdout.errored)
      return hasRoom
    },
  })
}

function exitBy(error: Error): never {
  if (errorCode(error) === 'EPIPE') process.exit(EXIT.outputClosed)
  console.error(`Standard output cannot be written: ${error.message}`)
  process.exit(EXIT.failed)
}
