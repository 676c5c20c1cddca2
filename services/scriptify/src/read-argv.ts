import { readFileSync } from 'node:fs'
import { encodeRawBytes } from './raw-bytes.ts'

/** The commands whose words are handed on, byte for byte. */
const HANDING_ON = new Set(['run', 'install', 'endpoint'])

/** The words of this process; where Node has put U+FFFD for bytes that are no UTF-8, the bytes are kept (PEP 383). */
export function readArgv(): string[] {
  const { argv } = process
  if (!HANDING_ON.has(argv[2] ?? '') || !argv.some((word) => word.includes('\ufffd'))) return argv
  try {
    const words = splitAtNul(readFileSync('/proc/self/cmdline')).map(encodeRawBytes)
    // Node's own options come first.
    return [...argv.slice(0, 2), ...words.slice(words.length - (argv.length - 2))]
  } catch {
    // No such file here, so the bytes are lost to us.
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
