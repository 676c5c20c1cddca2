import { readFile } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { CliError, EXIT, errorCode } from '../io/cli-error.ts'

/** Reads the whole body, which fetch would keep in memory too; undefined if none was given. */
export async function readBody(
  { body, bodyFile }: { readonly body?: string; readonly bodyFile?: string },
  { stdin }: { readonly stdin: Readable },
): Promise<Buffer<ArrayBuffer> | undefined> {
  if (body !== undefined && bodyFile !== undefined)
    throw new CliError('Give --body or --body-file, not both', EXIT.usage)
  if (body === '-' || bodyFile === '-') return Buffer.from(await buffer(stdin))
  if (body !== undefined) return Buffer.from(body)
  if (bodyFile === undefined) return undefined
  return readFile(bodyFile).catch((error: unknown) => {
    throw unreadable(bodyFile, error)
  })
}

const HEAD_BYTES = 1024

/** True where a body begins like an object or an array of JSON. */
export const looksLikeJson = (body: Buffer): boolean =>
  /^\s*[{[]/.test(body.subarray(0, HEAD_BYTES).toString())

function unreadable(path: string, error: unknown): CliError {
  const code = errorCode(error)
  if (code === 'EISDIR') return new CliError(`The body file ${path} is a directory`, EXIT.usage)
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return new CliError(`The body file ${path} does not exist`, EXIT.notFound)
  if (code === 'EACCES')
    return new CliError(`The body file ${path} may not be read by this user`, EXIT.notPermitted)
  return new CliError(`The body file ${path} cannot be read (${code})`, EXIT.failed)
}
