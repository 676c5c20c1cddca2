import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { docker, ROOT, run } from './support/images.ts'

const CHECKOUT = [
  ...['.dockerignore', '.npmrc', 'package.json', 'package-lock.json'],
  ...['admin', 'config', 'extensions', 'migrations', 'scripts', 'services', 'shared', 'templates'],
]

describe.each(['auth-api', 'mailer-worker', 'scriptify'])('the image of %s', (service) => {
  it('can be read by its user when its checkout was made under umask 077', async () => {
    expect(await unreadableInImageOf(service)).toBe('')
  })
})

/** What the user of an image built from such a checkout cannot read in it, a path a line. */
async function unreadableInImageOf(service: string): Promise<string> {
  const checkout = await mkdtemp(join(tmpdir(), 'latchkey-umask-'))
  try {
    for (const part of CHECKOUT) {
      const filter = (source: string) => !source.endsWith('node_modules')
      await cp(join(ROOT, part), join(checkout, part), { recursive: true, filter })
    }
    // The packages' own files stay as they are: npm installs from them, and need not do so again for this.
    const own = [checkout, '-mindepth', '2', '!', '-name', 'package.json']
    await run('find', [...own, '-exec', 'chmod', 'go=', '{}', '+'])
    const dockerfile = join(checkout, `services/${service}/Dockerfile`)
    const image = await docker('build', '-q', '-f', dockerfile, checkout)
    const list = 'find /app ! -readable -o -type d ! -executable'
    return await docker('run', '--rm', '--entrypoint', 'sh', image, '-c', list)
  } finally {
    await rm(checkout, { recursive: true, force: true })
  }
}
