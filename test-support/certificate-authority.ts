import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import { onTestFinished } from 'vitest'

export interface Authority {
  /** The path of the certificate of the authority. */
  path: string
  /** The certificate of the authority. */
  ca: string
  /** A certificate, and its key. */
  server: { cert: string; key: string }
}

/** The name and the address that a certificate can be for (RFC 5280 §4.2.1.6). */
const HOSTS = {
  localhost: { type: 2, value: 'localhost' },
  '127.0.0.1': { type: 7, ip: '127.0.0.1' },
} as const

/** Creates a certificate authority that no system trusts, and a certificate of it for one host. */
export async function anAuthority(host: keyof typeof HOSTS = 'localhost'): Promise<Authority> {
  const folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-ca-'))
  onTestFinished(() => folder.remove())
  const ca = await generate([{ name: 'commonName', value: 'Example CA' }], {
    extensions: [{ name: 'basicConstraints', cA: true, critical: true }],
  })
  const { cert, private: key } = await generate([{ name: 'commonName', value: host }], {
    extensions: [{ name: 'subjectAltName', altNames: [HOSTS[host]] }],
    ca: { key: ca.private, cert: ca.cert },
  })
  const path = join(folder.path, 'ca.crt')
  await writeFile(path, ca.cert)
  return { path, ca: ca.cert, server: { cert, key } }
}
