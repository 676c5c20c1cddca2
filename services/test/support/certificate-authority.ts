import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import { onTestFinished } from 'vitest'

export interface Authority {
  /** The path of the certificate of the authority. */
  path: string
  /** That certificate. */
  ca: string
  /** A certificate for `localhost`, and its key. */
  server: { cert: string; key: string }
}

/** Creates a certificate authority that no system trusts, and a certificate of it. */
export async function anAuthority(): Promise<Authority> {
  const folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-ca-'))
  onTestFinished(() => folder.remove())
  const ca = await generate([{ name: 'commonName', value: 'Example CA' }], {
    extensions: [{ name: 'basicConstraints', cA: true, critical: true }],
  })
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'localhost' }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }],
    ca: { key: ca.private, cert: ca.cert },
  })
  const path = join(folder.path, 'ca.crt')
  await writeFile(path, ca.cert)
  return { path, ca: ca.cert, server: { cert, key } }
}
