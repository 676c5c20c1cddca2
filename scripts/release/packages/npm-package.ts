import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { lockedPackages } from './locked-packages.ts'
import { formatManPage } from './man-page.ts'

const run = promisify(execFile)
const WORKSPACE = 'services/scriptify'
/** The package that scriptify shares with Latchkey. */
const TEXT = '@latchkey/text'

interface Manifest {
  name: string
  version: string
  dependencies: Record<string, string>
  [field: string]: unknown
}

/**
 * Packs scriptify and all that it needs into a tarball in `target`; resolves with its path. `folder` is empty and gets the
 * unpacked files, which lie as in the checkout `root`.
 */
export async function packScriptify(
  root: string,
  { folder, target }: { folder: string; target: string },
): Promise<string> {
  await compile(root, folder)
  await copyFiles(root, folder)
  await copyPackages(root, folder)
  const manifest = await readManifest(join(root, WORKSPACE))
  await writeManifest(folder, manifest)
  await mkdir(join(folder, 'man'))
  await writeFile(join(folder, 'man', 'scriptify.1'), await formatManPage(manifest.version))
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', target], { cwd: folder })
  const [{ filename }]: [{ filename: string }] = JSON.parse(stdout)
  return join(target, filename)
}

/** Node strips no types of a module below node_modules, where a package is installed. */
async function compile(root: string, folder: string): Promise<void> {
  const project = join(import.meta.dirname, 'tsconfig.json')
  await run('npx', ['tsc', '--project', project, '--outDir', folder], { cwd: root })
  const source = join(root, 'shared', 'text')
  const target = join(folder, 'node_modules', TEXT)
  await mkdir(target, { recursive: true })
  // tsc leaves out what a package of node_modules contains. These modules import nothing.
  for (const file of globSync('*.ts', { cwd: source, exclude: ['*.test.ts'] })) {
    const code = stripTypeScriptTypes(await readFile(join(source, file), 'utf8'))
    await writeFile(join(target, file.replace(/ts$/, 'js')), code)
  }
  const { name, version, license, type } = await readManifest(source)
  // The importing modules name it by the extension of its source.
  await writeJson(target, { name, version, license, type, exports: { './*.ts': './*.js' } })
}

/** All that is not TypeScript: the launcher, php, the scripts of shells and the templates. */
async function copyFiles(root: string, folder: string): Promise<void> {
  const filter = (path: string) => !/\.c?ts$/.test(path)
  for (const path of [`${WORKSPACE}/bin`, `${WORKSPACE}/src`, 'templates/scriptify', 'templates/services'])
    await cp(join(root, path), join(folder, path), { recursive: true, filter })
  await cp(join(root, WORKSPACE, 'README.md'), join(folder, 'README.md'))
  await cp(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  const launcher = join(folder, WORKSPACE, 'bin', 'scriptify')
  const source = await readFile(launcher, 'utf8')
  await writeFile(launcher, source.replace('../src/main.ts', '../src/main.js'))
}

/** Source maps, declarations and the browser files of Handlebars are left out. */
const UNUSED = /\.(map|[cm]?ts|md|flow)$|\/handlebars\/(dist\/(amd|[^/]+\.js)|docs|types)$/

async function copyPackages(root: string, folder: string): Promise<void> {
  const filter = (path: string) => !UNUSED.test(path)
  for (const path of lockedPackages(root, WORKSPACE).filter((found) => !found.endsWith(TEXT)))
    await cp(join(root, path), join(folder, path.replace(`${WORKSPACE}/`, '')), { recursive: true, filter })
}

async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  const { name, version, description, license, type, engines, dependencies } = manifest
  await writeJson(folder, {
    ...{ name, version, description, license, type, engines },
    bin: { scriptify: `${WORKSPACE}/bin/scriptify` },
    man: ['man/scriptify.1'],
    dependencies,
    // npm asks no registry for packages that are in the tarball.
    bundleDependencies: Object.keys(dependencies),
    peerDependencies: manifest.peerDependencies,
    peerDependenciesMeta: manifest.peerDependenciesMeta,
  })
}

const readManifest = async (folder: string): Promise<Manifest> =>
  JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))

const writeJson = (folder: string, content: object): Promise<void> =>
  writeFile(join(folder, 'package.json'), `${JSON.stringify(content, null, 2)}\n`)
