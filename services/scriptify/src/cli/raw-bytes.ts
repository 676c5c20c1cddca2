import { isUtf8 } from 'node:buffer'

const ESCAPE = 0xdc00

/**
 * Decodes bytes that may not be UTF-8: any other byte becomes U+DC00 plus the byte (PEP 383), so nothing is lost.
 * `decodeRawBytes` is the inverse.
 */
export function encodeRawBytes(bytes: Buffer): string {
  let text = ''
  let start = 0
  while (start < bytes.length) {
    const end = endOfUtf8(bytes, start)
    text += bytes.toString('utf8', start, end)
    if (end < bytes.length) text += String.fromCharCode(ESCAPE + (bytes[end] ?? 0))
    start = end + 1
  }
  return text
}

/** The bytes that `encodeRawBytes` received. */
export function decodeRawBytes(text: string): Buffer {
  const parts = text.split(/(?<![\ud800-\udbff])([\udc80-\udcff])/)
  return Buffer.concat(
    parts.map((part, index) =>
      index % 2 === 0 ? Buffer.from(part) : Buffer.of(part.charCodeAt(0) - ESCAPE),
    ),
  )
}

/** The index of the first byte from `start` on that is not UTF-8. */
function endOfUtf8(bytes: Buffer, start: number): number {
  let end = start
  while (end < bytes.length) {
    const length = lengthOfCharacter(bytes[end] ?? 0)
    const character = bytes.subarray(end, end + length)
    if (length === 0 || character.length < length || !isUtf8(character)) return end
    end += length
  }
  return end
}

const lengthOfCharacter = (first: number): number =>
  first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0
