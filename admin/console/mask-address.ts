/** An address as a list may show it: enough to recognise it, not enough to write to it. */
export function maskAddress(address: string): string {
  const at = address.lastIndexOf('@')
  if (at < 1) return '***'
  const [first = ''] = address
  return `${first}***${address.slice(at)}`
}

/** The same for every address within a text, such as a mail server's answer. */
export const maskAddresses = (text: string): string =>
  text.replace(/[^\s<>"(),;:]+@[^\s<>"(),;:]+/g, maskAddress)
