import { createHash } from 'node:crypto'

/**
 * SHA-256 of every secret that stands in this repository or its documentation, in hexadecimal.
 * Production refuses them; a test compares this list with the files.
 */
const PUBLISHED: ReadonlySet<string> = new Set([
  // docs/how-to/create-secrets.md shows it as what a secret looks like.
  'ab78db6a7a453e047d66748c0fdf6bdea3c7148c01591adad35b43b76d0510d2',
])

/** Tells whether a base64 secret can be read in Latchkey's own repository. */
export const isPublishedSecret = (text: string): boolean =>
  PUBLISHED.has(createHash('sha256').update(Buffer.from(text, 'base64')).digest('hex'))
