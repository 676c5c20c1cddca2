import { readFileSync } from 'node:fs'
import { encodeRawBytes } from './raw-bytes.ts'

/** The commands that pass arguments on byte for byte. */
const BYTE_EXACT = new Set(['run', 'install', 'endpoint'])

/** The argv of this process. Node replaces bytes that are not UTF-8 by U+FFFD; here they are kept (PEP 383). */
export function readArgv(): string[] {
  const { argv } = process
  if (!BYTE_EXACT.has(argv[2] ?? '') || !argv.some((word) => word.includes('\ufffd'))) return argv
  try {
    const words = splitAtNul(readFileSync('/proc/self/cmdline')).map(encodeRawBytes)
    // Node's own options come first.
    return [...argv.slice(0, 2), ...words.slice(words.length - (argv.length - 2))]
  } catch {
    // Without /proc the bytes are lost.
    return argv
  }
}

function splitAtNul(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = []
  let start = 0
  for (let end = bytes.indexOf(0); end !== -1; end = bytes.indexOf(0, start)) {
    parts.push(bytes.subarray(start, end))
    start = end + 1
  }
  return parts
}
