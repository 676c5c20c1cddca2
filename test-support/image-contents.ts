import { mkdtempDisposable, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { docker, run } from './images.ts'

/** The digests of an image's layers, the first one first. */
export async function layersOf(image: string): Promise<string[]> {
  return JSON.parse(await docker('image', 'inspect', '--format', '{{json .RootFS.Layers}}', image))
}

/**
 * The entries of one layer, sorted: path, type, mode, owner, time and content. An engine that has a layer's parent
 * from another build may write the same entries in another order, which changes the digest.
 */
export async function layerEntriesOf(image: string, index: number): Promise<string[]> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-layers-'))
  await docker('save', '--output', join(folder.path, 'image.tar'), image)
  await run('tar', ['-xf', 'image.tar'], { cwd: folder.path })
  const [{ Layers: layers }]: [{ Layers: string[] }] = JSON.parse(
    await readFile(join(folder.path, 'manifest.json'), 'utf8'),
  )
  const layer = join(folder.path, layers[index] ?? '')
  const list = await tar('--list', '--verbose', '--numeric-owner', '--full-time', '--file', layer)
  const digest = 'echo "$(sha256sum | cut -c -64) $TAR_FILENAME"'
  const digests = await tar('--extract', `--to-command=${digest}`, '--file', layer)
  return `${list}${digests}`.split('\n').sort()
}

const tar = async (...args: string[]): Promise<string> =>
  (await run('tar', args, { env: { ...process.env, TZ: 'UTC' }, maxBuffer: 64 * 1024 * 1024 })).stdout

/** The bytes of all layers above the first, which is Debian with Node.js and is the same in every image. */
export async function bytesAboveRuntime(image: string): Promise<number> {
  const sizes = await docker('history', '--human=false', '--format', '{{.Size}}', image)
  const ofLayers = sizes
    .split('\n')
    .map(Number)
    .filter((bytes) => bytes > 0)
  return ofLayers.slice(0, -1).reduce((total, bytes) => total + bytes, 0)
}

/** The npm packages in an image that its sbom.json does not list. */
export async function unlistedPackages(image: string): Promise<string[]> {
  const read = (path: string) => docker('run', '--rm', '--entrypoint', 'cat', image, path)
  const sbom: { components: { purl: string }[] } = JSON.parse(await read('/app/sbom.json'))
  const listed = new Set(sbom.components.map(({ purl }) => decodeURIComponent(purl)))
  return (await packagesIn(image)).filter((name) => !listed.has(`pkg:npm/${name}`))
}

/** `name@version` of each package that npm installed and that is still there. */
async function packagesIn(image: string): Promise<string[]> {
  const script = `
    const { packages } = JSON.parse(fs.readFileSync('/app/node_modules/.package-lock.json'))
    for (const [path, { version, link }] of Object.entries(packages)) {
      if (link || !path.includes('node_modules/') || !fs.existsSync('/app/' + path)) continue
      console.log(path.split('node_modules/').at(-1) + '@' + version)
    }`
  const names = (await docker('run', '--rm', '--entrypoint', 'node', image, '--eval', script)).split('\n')
  if (!names.some((name) => name.startsWith('zod@'))) throw new Error(`No packages found in ${image}`)
  return names
}
