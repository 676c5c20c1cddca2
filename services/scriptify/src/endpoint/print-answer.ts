import type { IncomingMessage } from 'node:http'
import { StringDecoder } from 'node:string_decoder'
import { printable, printableLines } from '@latchkey/text/printable.ts'
import type { Output } from '../io/cli-context.ts'
import { CliError, EXIT } from '../io/cli-error.ts'
import { decodeBody } from './decode-body.ts'
import { formatJson } from './format-json.ts'

/** How the output ended: with the last byte, at maxBytes, at binary bytes on a terminal, or with a closed pipe. */
export type BodyEnd = 'complete' | 'cut' | 'binary' | 'closed'

export function statusLineOf({ httpVersion, statusCode, statusMessage = '' }: IncomingMessage): string {
  return `HTTP/${httpVersion} ${statusCode} ${printable(statusMessage)}`.trimEnd()
}

/** Status line and headers as received, and an empty line. */
export function headOf(response: IncomingMessage): string {
  const { rawHeaders } = response
  const lines = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [`${name}: ${printable(asText(rawHeaders[index + 1] ?? ''))}`] : [],
  )
  return `${[statusLineOf(response), ...lines].join('\n')}\n`
}

const asText = (bytes: string): string => Buffer.from(bytes, 'latin1').toString()

interface BodyOptions {
  /** Bytes of the body after which it is cut. */
  maxBytes: number
  /** Whether the user asked for a content coding: then it is kept. */
  keepsCoding: boolean
}

/** Writes the body byte for byte; on a terminal as that may show it, JSON indented. Rejects with the response's error. */
export async function printBody(
  response: IncomingMessage,
  output: Output,
  { maxBytes, keepsCoding }: BodyOptions,
): Promise<BodyEnd> {
  // Each write reports its own error.
  output.on('error', () => undefined)
  const isTerminal = output.isTTY ?? false
  const decoder = new StringDecoder()
  const send = (bytes: Buffer) => write(output, isTerminal ? printableLines(decoder.write(bytes)) : bytes)
  const collected: Buffer[] | undefined = isTerminal && isJson(response) ? [] : undefined
  let length = 0
  let endsWithNewline = true
  const body: AsyncIterable<Buffer> = keepsCoding ? response : decodeBody(response)
  for await (const chunk of body) {
    const part = chunk.subarray(0, maxBytes - length)
    if (isTerminal && part.includes(0)) return 'binary'
    length += part.length
    if (part.length > 0) endsWithNewline = part.at(-1) === 0x0a
    if (collected) collected.push(part)
    else if (!(await send(part))) return 'closed'
    if (part.length < chunk.length) {
      if (collected) await send(Buffer.concat(collected))
      return 'cut'
    }
  }
  if (collected) await write(output, `${printableLines(formatJson(Buffer.concat(collected).toString()))}\n`)
  else if (isTerminal && !endsWithNewline) await write(output, '\n')
  return 'complete'
}

const isJson = ({ headers }: IncomingMessage): boolean =>
  /^application\/([\w.-]+\+)?json\b/i.test(headers['content-type'] ?? '')

/** Resolves with false when the pipe is closed. */
function write(output: Output, bytes: Buffer | string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    output.write(bytes, (error) => {
      if (!error) return resolve(true)
      const code = 'code' in error ? String(error.code) : 'unknown reason'
      if (code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return resolve(false)
      reject(new CliError(`The body cannot be written to standard output (${code})`, EXIT.failed))
    })
  })
}
