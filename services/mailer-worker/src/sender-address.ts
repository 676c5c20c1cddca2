import addressparser from 'nodemailer/lib/addressparser'

/** The domain of the one address that `text` (RFC 5322, with or without a display name) holds. */
export function parseSenderAddress(text: string): { domain: string } | undefined {
  if (/\p{Cc}/u.test(text)) return undefined
  const [first, ...others] = addressparser(text, { flatten: true })
  const domain = /^[^\s@]+@([^\s@<>"(),;\\]+)$/.exec(first?.address ?? '')?.[1]
  return domain && others.length === 0 ? { domain } : undefined
}
