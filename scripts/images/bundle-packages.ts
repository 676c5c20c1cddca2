/*
 * Bundles the modules of each large package into one file: opening files is what a start from an image takes longer for than
 * one from a checkout. Each module keeps its path and exports what is in the bundle, so that all who import it get the same.
 *
 *   node scripts/images/bundle-packages.ts
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { parse } from 'cjs-module-lexer'
import { type InputOptions, type OutputChunk, type OutputOptions, type Plugin, rolldown } from 'rolldown'

const ROOT = join(import.meta.dirname, '../..')
/** Of those that a service loads, the ones with about ten modules and more. */
const PACKAGES = [
  '@opentelemetry/api',
  'avvio',
  'bullmq',
  'cron-parser',
  'fastify',
  'find-my-way',
  'handlebars',
  'ioredis',
  'ip-address',
  'mysql2',
  'nodemailer',
  'pg',
  'pino',
  'prom-client',
  'ret',
  'semver',
  'zod',
]

const { packages } = readJson('node_modules/.package-lock.json')
for (const path of Object.keys(packages)) {
  const name = PACKAGES.find((each) => path.endsWith(`node_modules/${each}`))
  // An image has the packages of its service.
  if (name !== undefined && existsSync(join(ROOT, path))) await bundlePackage(name, path)
}

async function bundlePackage(name: string, path: string): Promise<void> {
  const folder = join(ROOT, path)
  const importer = join(ROOT, path.slice(0, -`node_modules/${name}`.length))
  const entry = await build({ input: name, cwd: importer }, { format: 'esm' })
  const modules = entry
    .flatMap(({ moduleIds }) => moduleIds)
    .filter((id) => id.startsWith(folder))
    .sort()
  if (readJson(join(path, 'package.json')).type === 'module') await bundleModules(folder, modules)
  else await bundleCommonJs(folder, modules)
}

async function bundleModules(folder: string, modules: readonly string[]): Promise<void> {
  const input = Object.fromEntries(modules.map((module) => [relative(folder, module), module]))
  const chunks = await build(
    { input },
    {
      format: 'esm',
      entryFileNames: '[name]',
      chunkFileNames: '[name].js',
      codeSplitting: { groups: [{ name: 'bundled', test: () => true }] },
    },
  )
  for (const { fileName, code } of chunks) writeFileSync(join(folder, fileName), code)
}

async function bundleCommonJs(folder: string, modules: readonly string[]): Promise<void> {
  // Not what makes a CommonJS package importable (.mjs), which has its names, and no JSON.
  const scripts = modules.filter((module) => /\.c?js$/.test(module))
  const plugins = [loadEach(folder, scripts), keepPlaces(folder)]
  const [bundle] = await build({ input: 'bundle', plugins }, { format: 'cjs' })
  if (!bundle) throw new Error(`${folder} has no modules`)
  const proxies = scripts.map((script) => proxyOf(folder, script))
  for (const [index, script] of scripts.entries()) writeFileSync(script, proxies[index] ?? '')
  writeFileSync(join(folder, 'bundled.cjs'), bundle.code)
}

async function build(input: InputOptions, output: OutputOptions): Promise<OutputChunk[]> {
  const bundle = await rolldown({
    ...input,
    platform: 'node',
    resolve: { conditionNames: ['node', 'import'], mainFields: ['main'] },
    treeshake: false,
    external: (id, importer) => importer !== undefined && /^[^./\0]/.test(id),
  })
  const { output: files } = await bundle.generate(output)
  return files.filter((file) => file.type === 'chunk')
}

/** An entry that exports a function for each script, which loads it. */
function loadEach(folder: string, scripts: readonly string[]): Plugin {
  const loaders = scripts.map(
    (script) => `exports[${quote(relative(folder, script))}] = () => require(${quote(script)})`,
  )
  return {
    name: 'load-each',
    resolveId: (id) => (id === 'bundle' ? '\0bundle.cjs' : null),
    load: (id) => (id === '\0bundle.cjs' ? loaders.join('\n') : null),
  }
}

/** A script of the bundle finds the files beside its own path. */
function keepPlaces(folder: string): Plugin {
  return {
    name: 'keep-places',
    transform(code, id) {
      const place = quote(`/${relative(folder, dirname(id))}`)
      const file = quote(`/${relative(folder, id)}`)
      return code
        .replaceAll(/\b__dirname\b/g, `(__dirname + ${place})`)
        .replaceAll(/\b__filename\b/g, `(__dirname + ${file})`)
    },
  }
}

/** Stands at the path of a script. The last line is never run: Node reads in it what an ES module can import by name. */
function proxyOf(folder: string, script: string): string {
  const bundle = `./${join(relative(dirname(script), folder), 'bundled.cjs')}`
  const names = [...exportsOf(script)].map((name) => `exports[${quote(name)}] = `)
  return [
    `const { ${quote(relative(folder, script))}: load } = require(${quote(bundle)})`,
    'module.exports = load()',
    `0 && (${names.join('')}0)`,
    '',
  ].join('\n')
}

/** The names that Node finds in a script, and in those that it exports anew. */
function exportsOf(script: string): Set<string> {
  const { exports, reexports } = parse(readFileSync(script, 'utf8'))
  const paths = [...reexports].map((id) => createRequire(script).resolve(id))
  return new Set([...exports, ...paths.flatMap((path) => [...exportsOf(path)])])
}

function quote(text: string): string {
  return JSON.stringify(text)
}

function readJson(path: string) {
  return JSON.parse(readFileSync(join(ROOT, path), 'utf8'))
}
