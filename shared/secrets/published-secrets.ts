import { createHash } from 'node:crypto'

/**
 * SHA-256, in hexadecimal, of every secret in this repository and its documentation. Production refuses them; a test
 * compares this list with the files.
 */
const PUBLISHED: ReadonlySet<string> = new Set([
  // docs/how-to/create-secrets.md shows it as an example.
  'ab78db6a7a453e047d66748c0fdf6bdea3c7148c01591adad35b43b76d0510d2',
  // The OpenAPI document shows it as the token of a password reset.
  'cd928467a96ce5675a2edf606667c844be848f09ad5684da54f22a04974a01af',
])

/** True where a base64 secret is published in Latchkey's repository. */
export const isPublishedSecret = (text: string): boolean =>
  PUBLISHED.has(createHash('sha256').update(Buffer.from(text, 'base64')).digest('hex'))
