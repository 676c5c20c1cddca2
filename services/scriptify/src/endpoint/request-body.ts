import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { CliError, EXIT, errorCode } from '../io/cli-error.ts'

/** The body of a request; a file is streamed, not held in memory. */
export interface RequestBody {
  /** The length in bytes; undefined for a stream. */
  readonly length: number | undefined
  readonly isJson: boolean
  /** The bytes from the beginning; undefined for a stream that has been read. */
  open(): Readable | undefined
  close(): void
}

const HEAD_BYTES = 1024

export function textBody(text: string): RequestBody {
  const bytes = Buffer.from(text)
  return {
    length: bytes.length,
    isJson: looksLikeJson(bytes),
    open: () => Readable.from([bytes]),
    close: () => undefined,
  }
}

/** A regular file is sent with its length, and again after a redirect; a pipe is streamed once. */
export async function fileBody(path: string): Promise<RequestBody> {
  const file = await open(path).catch((error: unknown) => {
    throw unreadable(path, error)
  })
  const stat = await file.stat()
  if (stat.isDirectory()) {
    await file.close()
    throw new CliError(`The body file ${path} is a directory`, EXIT.usage)
  }
  if (!stat.isFile()) return streamBody(file.createReadStream())
  const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
  return {
    length: stat.size,
    isJson: looksLikeJson(buffer.subarray(0, bytesRead)),
    // Bytes that are appended by then are not part of the announced length.
    open: () =>
      stat.size === 0
        ? Readable.from([])
        : file.createReadStream({ start: 0, end: stat.size - 1, autoClose: false }),
    close: () => void file.close(),
  }
}

/** The bytes of the stream, which are sent once. */
export async function streamBody(stream: Readable): Promise<RequestBody> {
  await once(stream, 'readable')
  const first: unknown = stream.read()
  if (!Buffer.isBuffer(first)) return textBody('')
  stream.unshift(first)
  let isFresh = true
  return {
    length: undefined,
    isJson: looksLikeJson(first.subarray(0, HEAD_BYTES)),
    open() {
      const bytes = isFresh ? stream : undefined
      isFresh = false
      return bytes
    },
    close: () => void stream.destroy(),
  }
}

const looksLikeJson = (head: Buffer): boolean => /^\s*[{[]/.test(head.toString())

function unreadable(path: string, error: unknown): CliError {
  const code = errorCode(error)
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return new CliError(`The body file ${path} does not exist`, EXIT.notFound)
  if (code === 'EACCES')
    return new CliError(`The body file ${path} may not be read by this user`, EXIT.notPermitted)
  return new CliError(`The body file ${path} cannot be read (${code})`, EXIT.failed)
}
