/** Masks an address so that it can be recognised but not written to: `a***@example.com`. */
export function maskAddress(address: string): string {
  const at = address.lastIndexOf('@')
  if (at < 1) return '***'
  const [first = ''] = address
  return `${first}***${address.slice(at)}`
}

/** Masks every address in a text, such as a mail server's response. */
export const maskAddresses = (text: string): string =>
  text.replace(/[^\s<>"(),;:]+@[^\s<>"(),;:]+/g, maskAddress)
