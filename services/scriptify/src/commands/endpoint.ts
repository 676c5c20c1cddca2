import { Command } from 'commander'
import type { EndpointOptions } from '../endpoint/call-endpoint.ts'
import { collect } from './collect.ts'

const EXAMPLES = `
The body goes to standard output as it came; on a terminal JSON is set out in lines. All else goes to standard error.
Certificates: NODE_EXTRA_CA_CERTS names a file of further authorities. Proxies: HTTP_PROXY, HTTPS_PROXY, NO_PROXY.

Exit codes: 0 status below 400, 22 status 400 or above, 7 no connection or no whole answer, 28 out of time,
1 too many redirects, a body above --max-bytes or output that cannot be written, 2 wrong usage, 3 no such body file,
4 a body file that may not be read

Examples:
  scriptify endpoint GET http://localhost:8080/health/ready
  scriptify endpoint POST /login --body '{"username":"user@example.com","password":"!P4ssw0rdstr!"}'
  scriptify endpoint GET /profile --header "Authorization: Bearer $TOKEN" --include
  scriptify endpoint PUT https://example.com/report --header 'Content-Type: text/csv' --body-file report.csv
  gzip -c report.csv | scriptify endpoint POST https://example.com/report --body-file -`

type Flags = Omit<EndpointOptions, 'method' | 'url' | 'header'> & { header?: string[] }

/** `scriptify endpoint`: one HTTP request, its answer's body on stdout. */
export function createEndpointCommand(): Command {
  return new Command('endpoint')
    .description('call a REST endpoint')
    .argument('<METHOD>', 'GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS or another')
    .argument(
      '<url>',
      'http: or https:; a path such as /login is put behind --base, else the setting API_SERVER',
    )
    .option('-H, --header <Name: value>', 'send this header; may be given again', collect)
    .option('-d, --body <text>', 'send this; as application/json where it looks like that')
    .option('--body-file <file>', 'send the bytes of this file; - for standard input')
    .option('--base <url>', 'what a path is put behind')
    .option('-i, --include', 'show status and headers, on standard error')
    .option('-L, --follow', 'follow redirects; to another origin without Authorization, Cookie and Host')
    .option('--max-redirects <number>', 'give up after so many', '10')
    .option('--timeout <seconds>', 'give up after so long, from the request to the end of the body', '30')
    .option('--max-bytes <number>', 'stop after so much of the body (default: 10485760 on a terminal only)')
    .addHelpText('after', EXAMPLES)
    .action(async (method: string, url: string, flags: Flags) => {
      const { callEndpoint } = await import('../endpoint/call-endpoint.ts')
      process.exitCode = await callEndpoint({ ...flags, method, url, header: flags.header ?? [] })
    })
}
