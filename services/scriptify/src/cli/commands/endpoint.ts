import { Command, InvalidArgumentError } from 'commander'
import type { EndpointOptions } from '../../endpoint/call-endpoint.ts'
import type { CliContext } from '../../io/cli-context.ts'
import { collect, parseSeconds } from '../option-values.ts'

const EXAMPLES = `
The body of the response goes to standard output unchanged; on a terminal JSON is indented. All else goes to standard error.
Certificates: NODE_EXTRA_CA_CERTS names a file of additional authorities. Proxies: HTTP_PROXY, HTTPS_PROXY, NO_PROXY.

Exit codes: 0 status below 400, 22 status 400 or above, 7 no connection or an incomplete response, 28 timeout,
1 a redirect that --follow refuses, or output that cannot be written, 2 wrong usage, 3 no such body file,
4 no permission to read the body file

Examples:
  scriptify endpoint GET http://localhost:8080/health/ready
  scriptify endpoint POST /login --body '{"username":"user@example.com","password":"!P4ssw0rdstr!"}'
  scriptify endpoint GET /profile --header "Authorization: Bearer $TOKEN" --include
  scriptify endpoint PUT https://example.com/report --header 'Content-Type: text/csv' --body-file report.csv
  gzip -c report.csv | scriptify endpoint POST https://example.com/report --body-file -`

type Flags = Omit<EndpointOptions, 'method' | 'url' | 'header'> & { header?: string[] }

/** `scriptify endpoint`: one HTTP request, the body of its response on stdout. */
export function createEndpointCommand(context: CliContext): Command {
  return new Command('endpoint')
    .description('call a REST endpoint')
    .argument('<METHOD>', 'GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS or another')
    .argument(
      '<url>',
      'http: or https:; a path such as /login is appended to --base, API_SERVER or the project’s scriptify.base',
    )
    .option('-H, --header <Name: value>', 'send this header; repeatable', collect)
    .option(
      '-d, --body <text>',
      'send this text, or standard input for -; as application/json if it looks like JSON',
    )
    .option('--body-file <file>', 'send the bytes of this file, or of standard input for -')
    .option('--base <url>', 'the URL that a path is appended to')
    .option('-i, --include', 'show status and headers, on standard error')
    .option('-L, --follow', 'follow redirects; another origin gets no header and no body that was given')
    .option(
      '--timeout <seconds>',
      'fail after this time, such as 500ms or 2m, from the request to the end of the body',
      parseTimeout,
      30,
    )
    .addHelpText('after', EXAMPLES)
    .action(async (method: string, url: string, flags: Flags) => {
      const { callEndpoint } = await import('../../endpoint/call-endpoint.ts')
      const options = { ...flags, method, url, header: flags.header ?? [] }
      context.exitCode = await callEndpoint(options, context)
    })
}

function parseTimeout(text: string): number {
  const seconds = parseSeconds(text)
  if (seconds > 0) return seconds
  throw new InvalidArgumentError('Give a time above 0.')
}
