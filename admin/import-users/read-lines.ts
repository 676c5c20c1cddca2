import { createReadStream } from 'node:fs'

export interface Line {
  number: number
  /** Without the line feed, but with a carriage return before it. */
  bytes: Buffer
  /** The offset after the line, in bytes. */
  end: number
}

const LINE_FEED = 0x0a
const CHUNK_BYTES = 256 * 1024
/** Far above what a user needs, far below what would exhaust memory. */
const MAX_LINE_BYTES = 64 * 1024

/** Reads a file line by line in constant memory; throws at a line longer than 64 KiB. */
export async function* readLines(path: string): AsyncGenerator<Line> {
  let rest: Buffer = Buffer.alloc(0)
  let number = 0
  let end = 0
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES })) {
    const data = Buffer.concat([rest, chunk as Buffer])
    let start = 0
    for (let feed = data.indexOf(LINE_FEED); feed !== -1; feed = data.indexOf(LINE_FEED, start)) {
      const bytes = data.subarray(start, feed)
      start = feed + 1
      end += bytes.length + 1
      number += 1
      refuseLong(bytes, number)
      yield { number, bytes, end }
    }
    rest = data.subarray(start)
    refuseLong(rest, number + 1)
  }
  if (rest.length > 0) yield { number: number + 1, bytes: rest, end: end + rest.length }
}

function refuseLong(bytes: Buffer, number: number): void {
  if (bytes.length > MAX_LINE_BYTES)
    throw new Error(`Line ${number} is longer than ${MAX_LINE_BYTES} bytes; the file is not a list of users`)
}
