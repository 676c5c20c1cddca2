import { StringDecoder } from 'node:string_decoder'
import { printable, printableLines } from '@latchkey/text/printable.ts'
import type { Output } from '../io/cli-context.ts'
import { CliError, EXIT } from '../io/cli-error.ts'
import { formatJson } from './format-json.ts'

/** The end of the output: its last byte, binary bytes on a terminal, or a closed pipe. */
export type BodyEnd = 'complete' | 'binary' | 'closed'

export const statusLineOf = ({ status, statusText }: Response): string =>
  `HTTP ${status} ${printable(statusText)}`.trimEnd()

/** Status line and headers, and an empty line. */
export function headOf(response: Response): string {
  const lines = [...response.headers].map(([name, value]) => `${name}: ${printable(asText(value))}`)
  return `${[statusLineOf(response), ...lines].join('\n')}\n`
}

const asText = (bytes: string): string => Buffer.from(bytes, 'latin1').toString()

/** Writes the body byte for byte; on a terminal as that may show it, JSON indented. Rejects with the response's error. */
export async function printBody({ body, headers }: Response, output: Output): Promise<BodyEnd> {
  // Each write reports its own error.
  output.on('error', () => undefined)
  const isTerminal = output.isTTY ?? false
  const decoder = new StringDecoder()
  const collected: Uint8Array[] | undefined =
    isTerminal && JSON_TYPE.test(headers.get('content-type') ?? '') ? [] : undefined
  let endsWithNewline = true
  for await (const chunk of body ?? []) {
    if (isTerminal && chunk.includes(0)) return 'binary'
    if (chunk.length > 0) endsWithNewline = chunk.at(-1) === 0x0a
    const shown = isTerminal ? printableLines(decoder.write(chunk)) : chunk
    if (collected) collected.push(chunk)
    else if (!(await write(output, shown))) return 'closed'
  }
  if (collected) await write(output, `${printableLines(formatJson(Buffer.concat(collected).toString()))}\n`)
  else if (isTerminal && !endsWithNewline) await write(output, '\n')
  return 'complete'
}

const JSON_TYPE = /^application\/([\w.-]+\+)?json\b/i

/** Resolves with false when the pipe is closed. */
function write(output: Output, bytes: Uint8Array | string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    output.write(bytes, (error) => {
      if (!error) return resolve(true)
      const code = 'code' in error ? String(error.code) : 'unknown reason'
      if (code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return resolve(false)
      reject(new CliError(`The body cannot be written to standard output (${code})`, EXIT.failed))
    })
  })
}
