import http from 'node:http'
import { printable } from '@latchkey/text/printable.ts'
import type { CliContext } from '../io/cli-context.ts'
import { EXIT } from '../io/cli-error.ts'
import { exchange, locationOf } from './exchange.ts'
import { parseRequest, type RequestOptions } from './parse-request.ts'
import { headOf, printBody, statusLineOf } from './print-answer.ts'

/** The arguments of the command line. */
export interface EndpointOptions extends RequestOptions {
  include?: boolean
  follow?: boolean
  /** Time until the request fails, in seconds. */
  timeout: number
}

/** Sends the request and prints the response; resolves with the exit code, or throws a CliError. */
export async function callEndpoint(options: EndpointOptions, context: CliContext): Promise<number> {
  const note = (line: string) => void context.stderr.write(`${line}\n`)
  const request = await parseRequest(options, context)
  const restoreProxies = http.setGlobalProxyFromEnv(context.env)
  try {
    const { response, read } = await exchange(request, {
      follow: options.follow ?? false,
      timeoutMs: Math.ceil(options.timeout * 1000),
      onResponse: (response) => options.include && note(headOf(response)),
    })
    const end = await read(printBody(response, context.stdout))
    if (end === 'closed') return EXIT.outputClosed
    const isError = response.status >= 400
    if (!options.include) {
      const location = locationOf(response)
      if (isError) note(statusLineOf(response))
      else if (location !== undefined)
        note(`${statusLineOf(response)}: redirects to ${printable(location)}; --follow goes there`)
    }
    if (end === 'complete') return isError ? EXIT.httpError : EXIT.ok
    note('The body is binary and not shown on a terminal: redirect it to a file or a pipe')
    return EXIT.failed
  } finally {
    restoreProxies()
  }
}
