import { randomBytes } from 'node:crypto'

/** Generates a secret: `byteLength` random bytes in base64. */
export const generateSecret = (byteLength: number): string => randomBytes(byteLength).toString('base64')

/**
 * Decodes a base64 secret (RFC 4648 §4, padding optional) of at least `minimumBytes`.
 * The fault, if any, does not contain the text.
 */
export function decodeSecret(text: string, minimumBytes: number): { bytes: Uint8Array; fault?: string } {
  const bytes = Buffer.from(text, 'base64')
  // Buffer skips characters outside base64, so a passphrase would become a shorter key without an error.
  if (stripPadding(bytes.toString('base64')) !== stripPadding(text)) {
    return { bytes, fault: 'is not base64' }
  }
  if (bytes.length < minimumBytes) {
    return { bytes, fault: `decodes to ${bytes.length} bytes, and at least ${minimumBytes} are needed` }
  }
  if (new Set(bytes).size < MINIMUM_DISTINCT_BYTES) {
    return { bytes, fault: 'repeats the same few bytes, so it is not random' }
  }
  return { bytes }
}

/** 32 random bytes have fewer distinct values about once in 10^18 draws. */
const MINIMUM_DISTINCT_BYTES = 12

const stripPadding = (text: string): string => text.replace(/={1,2}$/, '')
