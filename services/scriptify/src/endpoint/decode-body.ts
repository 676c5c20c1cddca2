import type { IncomingMessage } from 'node:http'
import { pipeline, type Readable, type Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'

const DECODERS: Record<string, () => Transform> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
}

/** The body without the content codings of RFC 9110 §8.4.1; as it is if one of them is unknown. */
export function decodeBody(response: IncomingMessage): Readable {
  const codings = (response.headers['content-encoding'] ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity')
  const decoders = codings.map((coding) => (Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined))
  // The coding that was applied last comes first. The reader of the result sees the error of any part.
  return decoders.includes(undefined)
    ? response
    : decoders.reduceRight<Readable>(
        (body, decoder) => (decoder ? pipeline(body, decoder(), () => {}) : body),
        response,
      )
}
