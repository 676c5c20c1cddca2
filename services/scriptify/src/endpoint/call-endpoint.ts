import type { CliContext } from '../io/cli-context.ts'
import { EXIT } from '../io/cli-error.ts'
import { exchange } from './exchange.ts'
import { parseRequest, type RequestOptions } from './parse-request.ts'
import { headOf, printBody, statusLineOf } from './print-answer.ts'

/** The arguments of the command line. */
export interface EndpointOptions extends RequestOptions {
  include?: boolean
  follow?: boolean
  maxRedirects: number
  /** Time until the request fails, in seconds. */
  timeout: number
  /** Bytes of the body after which it is cut. Default: 10 MiB on a terminal, else no limit. */
  maxBytes?: number
}

const MAX_TERMINAL_BYTES = 10 * 1024 ** 2

/** Sends the request and prints the response; resolves with the exit code, or throws a CliError. */
export async function callEndpoint(options: EndpointOptions, context: CliContext): Promise<number> {
  const { stdout, stderr } = context
  const note = (line: string) => void stderr.write(`${line}\n`)
  const { maxBytes = stdout.isTTY ? MAX_TERMINAL_BYTES : Number.POSITIVE_INFINITY } = options
  const request = await parseRequest(options, context)
  if (request.body && /^(GET|HEAD)$/.test(request.method))
    note(`Note: many servers ignore the body of a ${request.method} request`)
  try {
    const { response, finish } = await exchange(request, {
      maxRedirects: options.follow ? options.maxRedirects : undefined,
      timeoutMs: Math.ceil(options.timeout * 1000),
      proxyEnv: context.env,
      onResponse: (response) => options.include && note(headOf(response)),
    })
    const keepsCoding = [...request.headers.keys()].some((name) => name.toLowerCase() === 'accept-encoding')
    const end = await finish(printBody(response, stdout, { maxBytes, keepsCoding }))
    if (end === 'closed') return EXIT.outputClosed
    const isError = (response.statusCode ?? 0) >= 400
    if (isError && !options.include) note(statusLineOf(response))
    if (end === 'complete') return isError ? EXIT.httpError : EXIT.ok
    note(
      end === 'binary'
        ? 'The body is binary and not shown on a terminal: redirect it to a file or a pipe'
        : `The body is cut after ${maxBytes} bytes: raise --max-bytes`,
    )
    return EXIT.failed
  } finally {
    request.body?.close()
  }
}
