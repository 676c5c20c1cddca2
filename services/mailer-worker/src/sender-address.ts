const ADDRESS = String.raw`[^\s@<>"(),;\\]+@([^\s@<>"(),;\\]+)`
/** RFC 5322: an address, or one in angle brackets after a display name, which may be quoted. */
const MAILBOX = new RegExp(
  `^\\s*(?:${ADDRESS}|(?:"(?:[^"\\\\]|\\\\.)*"|[^<>"(),;@\\\\]*)\\s*<${ADDRESS}>)\\s*$`,
)

/** The domain of the one address that `text` holds, with or without a display name. */
export function parseSenderAddress(text: string): { domain: string } | undefined {
  if (/\p{Cc}/u.test(text)) return undefined
  const [, bare, bracketed] = MAILBOX.exec(text) ?? []
  const domain = bare ?? bracketed
  return domain === undefined ? undefined : { domain }
}
