import type { CliContext } from '../cli/cli-context.ts'
import { EXIT } from '../cli/exit-codes.ts'
import { ENDPOINT_EXIT } from './endpoint-exit.ts'
import { exchange } from './exchange.ts'
import { type LimitOptions, parseLimits } from './parse-limits.ts'
import { parseRequest, type RequestOptions } from './parse-request.ts'
import { headOf, printBody, statusLineOf } from './print-answer.ts'

/** The arguments of the command line, unchecked. */
export interface EndpointOptions extends RequestOptions, LimitOptions {
  include?: boolean
  follow?: boolean
}

/** Sends the request and prints the response; resolves with the exit code, or throws a CliError. */
export async function callEndpoint(options: EndpointOptions, context: CliContext): Promise<number> {
  const { stdout, stderr } = context
  const note = (line: string) => void stderr.write(`${line}\n`)
  const { maxRedirects, timeoutMs, maxBytes } = parseLimits(options, stdout.isTTY ?? false)
  const request = await parseRequest(options, context)
  if (request.body && /^(GET|HEAD)$/.test(request.method))
    note(`Note: many servers ignore the body of a ${request.method} request`)
  try {
    const { response, finish } = await exchange(request, {
      maxRedirects: options.follow ? maxRedirects : undefined,
      timeoutMs,
      proxyEnv: context.env,
      onResponse: (response) => options.include && note(headOf(response)),
    })
    const isCoded = [...request.headers.keys()].some((name) => name.toLowerCase() === 'accept-encoding')
    const end = await finish(printBody(response, stdout, { maxBytes, isCoded }))
    if (end === 'closed') return EXIT.outputClosed
    const isError = (response.statusCode ?? 0) >= 400
    if (isError && !options.include) note(statusLineOf(response))
    if (end === 'complete') return isError ? ENDPOINT_EXIT.httpError : EXIT.ok
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
