import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { layerEntriesOf, layersOf } from '@latchkey/test-support/image-contents.ts'
import { docker, ROOT, run, VERSION } from '@latchkey/test-support/images.ts'
import { builtScriptifyImage, builtServiceImages } from '@latchkey/test-support/servers/shared-server.ts'
import { beforeAll, describe, expect, it } from 'vitest'

const CHECKOUT = [
  ...['.npmrc', 'package.json', 'package-lock.json'],
  ...[
    'admin',
    'config',
    'deploy',
    'extensions',
    'packages',
    'scripts',
    'services',
    'shared',
    'templates',
    'test-support',
  ],
]

beforeAll(() => Promise.all([builtServiceImages(), builtScriptifyImage()]))

describe.each(['auth-api', 'mailer-worker', 'scriptify'])('the image of %s', (service) => {
  it('has the same layers when it is built again, but for its compile cache, from a checkout made under umask 077', async () => {
    const rebuilt = await buildUnderStrictUmask(service)
    await expectEqualLayers(rebuilt, `latchkey/${service}:${VERSION}`)
    const list = 'find /app ! -readable -o -type d ! -executable'
    expect(await docker('run', '--rm', '--entrypoint', 'sh', rebuilt, '-c', list)).toBe('')
  })
})

async function expectEqualLayers(rebuilt: string, image: string): Promise<void> {
  const [actual, expected] = [await layersOf(rebuilt), await layersOf(image)]
  expect(actual).toHaveLength(expected.length)
  for (const [index, digest] of actual.entries()) {
    if (digest !== expected[index])
      expect(await entriesBesideCache(rebuilt, index)).toEqual(await entriesBesideCache(image, index))
  }
}

const entriesBesideCache = async (image: string, index: number): Promise<string[]> =>
  (await layerEntriesOf(image, index)).filter((entry) => !entry.includes('node_modules/.cache/'))

/** Builds an image under a strict umask, one of the three without a cache: they share their stages. */
async function buildUnderStrictUmask(service: string): Promise<string> {
  const checkout = await mkdtemp(join(tmpdir(), 'latchkey-umask-'))
  try {
    for (const part of CHECKOUT) {
      const filter = (source: string) => !source.endsWith('node_modules')
      await cp(join(ROOT, part), join(checkout, part), { recursive: true, filter })
    }
    // The packages' own files stay as they are: npm installs from them, and need not do so again for each image.
    const own = [checkout, '-mindepth', '2', '!', '-name', 'package.json']
    await run('find', [...own, '-exec', 'chmod', 'go=', '{}', '+'])
    const cache = service === 'scriptify' ? ['--no-cache'] : []
    return await docker(
      'build',
      '-q',
      ...cache,
      '--file',
      join(checkout, 'deploy/Dockerfile'),
      '--target',
      service,
      checkout,
    )
  } finally {
    await rm(checkout, { recursive: true, force: true })
  }
}
