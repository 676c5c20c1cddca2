import { compactDecrypt } from 'jose'

/** The variables of a sealed text, whatever mail it was sealed for. */
export async function openSealed(secret: Uint8Array, text: string): Promise<Record<string, string>> {
  const { plaintext } = await compactDecrypt(text, secret.subarray(0, 32))
  return JSON.parse(new TextDecoder().decode(plaintext)).variables
}
