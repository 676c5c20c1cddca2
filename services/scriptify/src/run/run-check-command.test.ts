import { expect, it } from 'vitest'
import { runCheckCommand } from './run-check-command.ts'

it.each([
  {
    why: 'the line of ours that follows a warning',
    script: `console.error('a warning\\nThe class X has no method y'); process.exit(3)`,
    says: 'The class X has no method y',
    code: 3,
  },
  {
    why: 'the error of a Node that dies, which its version follows',
    script: `require('node:fs').readFileSync('/no-such-file')`,
    says: "Error: ENOENT: no such file or directory, open '/no-such-file'",
    code: 1,
  },
])('says $why', async ({ script, says, code }) => {
  const check = runCheckCommand([process.execPath, '-e', script], { rootdir: '/', env: {} })
  await expect(check).rejects.toMatchObject({ message: says, exitCode: code })
})
