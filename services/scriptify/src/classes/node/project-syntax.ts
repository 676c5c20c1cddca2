import { existsSync, readFileSync } from 'node:fs'
import {
  createRequire,
  type LoadHookSync,
  type ResolveHookSync,
  registerHooks,
  stripTypeScriptTypes,
} from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { errorCode } from '../../io/cli-error.ts'

/** Syntax that is more than types. A module without it stays as Node itself loads it. */
const TRANSLATED =
  /\b(?:enum|namespace|module)\s|\bconstructor\s*\([^)]*\b(?:public|private|protected|readonly)\s|\b(?:import|export)\s+\w+\s*=|\bexport\s*=/

export const INSTALL_TSX = 'install tsx in the project (npm install --save-dev tsx)'

/**
 * Loads TypeScript as people write it: by the project's own tsx, where that is installed, else with Node's translation of
 * enums, namespaces and parameter properties.
 */
export async function useProjectSyntax(rootdir: string): Promise<void> {
  const tsx = findTsx(rootdir)
  if (tsx === undefined) registerHooks({ resolve: resolveOrAdvise, load: loadTranslated })
  else await import(pathToFileURL(tsx).href)
}

/** Imports a module of the project; where Node does not run its syntax, the error names the place, and what to do. */
export async function importModule(
  url: string,
  options?: ImportCallOptions,
): Promise<Record<string, unknown>> {
  try {
    return await import(url, options)
  } catch (error) {
    if (!(error instanceof Error)) throw error
    if (error instanceof SyntaxError) throw (await explain()) ?? error
    // Node names the module that imports, which here is this file.
    const importer = ` imported from ${import.meta.filename}`
    error.stack = String(error.stack).replace(importer, '')
    error.message = error.message.replace(importer, '')
    throw error
  }
}

/** The sources of the modules that were loaded as they are: V8 does not say which of them it cannot parse. */
const untranslated = new Map<string, string>()

async function explain(): Promise<Error | undefined> {
  const { findUnsupported } = await import('./unsupported-syntax.ts')
  for (const [url, source] of untranslated) {
    const found = findUnsupported(source)
    if (found === undefined) continue
    const place = `${relative(process.cwd(), fileURLToPath(url))}:${found.line}`
    return adviceAs(`${place} has ${found.what}, which Node does not run: ${INSTALL_TSX}`)
  }
  return undefined
}

/** An error without frames: it is about a file, and not about the code that loads it. */
function adviceAs(text: string): Error {
  const error = new Error(text)
  error.stack = `Error: ${text}`
  return error
}

function findTsx(rootdir: string): string | undefined {
  try {
    return createRequire(join(rootdir, 'package.json')).resolve('tsx')
  } catch {
    return undefined
  }
}

const loadTranslated: LoadHookSync = (url, context, load) => {
  const loaded = loadOrRead(url, context, load)
  const [, format] = /^(commonjs|module)-typescript$/.exec(loaded.format ?? '') ?? []
  if (format === undefined) return loaded
  const source = String(loaded.source ?? '')
  untranslated.set(url, source)
  if (!TRANSLATED.test(source)) return loaded
  process.setSourceMapsEnabled(true)
  const options = { mode: 'transform', sourceMap: true, sourceUrl: url } as const
  return { ...loaded, format, source: stripTypeScriptTypes(source, options) }
}

/**
 * Loads a module, or reads the one that Node refuses: without "type" in package.json it strips the types to tell the format,
 * and throws for other syntax.
 */
const loadOrRead: LoadHookSync = (url, context, load) => {
  try {
    return load(url, context)
  } catch (error) {
    if (errorCode(error) !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') throw error
    const source = readFileSync(fileURLToPath(url), 'utf8')
    const format = /^\s*(?:import|export)\b/m.test(source) ? 'module-typescript' : 'commonjs-typescript'
    return { format, source, shortCircuit: true }
  }
}

const resolveOrAdvise: ResolveHookSync = (specifier, context, next) => {
  try {
    return next(specifier, context)
  } catch (error) {
    const importer = context.parentURL?.startsWith('file:') ? fileURLToPath(context.parentURL) : ''
    const advice = adviceOnImport(specifier, importer)
    throw advice === undefined ? error : adviceAs(`${advice}, or ${INSTALL_TSX}`)
  }
}

/** Advice on an import that Node does not resolve: a path without extension or to a compiled file, or an alias of tsconfig.json. */
function adviceOnImport(specifier: string, importer: string): string | undefined {
  const isTyped = importer === import.meta.filename || /\[(?:terminal|script)\](?:\.ts)?$/.test(importer)
  if (!isTyped && !/\.[cm]?ts$/.test(importer)) return undefined
  const place = isTyped ? '' : `${relative(process.cwd(), importer)}:${lineOf(importer, specifier)} imports `
  const path = specifier.startsWith('file:') ? fileURLToPath(specifier) : specifier
  if (!/^\.{0,2}\//.test(path)) {
    return isAlias(path) ? `${place}"${path}": name the file by its path` : undefined
  }
  const written = [`${path}.ts`, path.replace(/js$/, 'ts'), `${path}/index.ts`].find(
    (other) => other !== path && existsSync(resolve(dirname(importer), other)),
  )
  return written === undefined ? undefined : `${place}"${path}": write "${written}"`
}

function isAlias(specifier: string): boolean {
  const path = resolve('tsconfig.json')
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  return [`"${specifier}"`, `"${specifier.split('/')[0]}/`].some((name) => text.includes(name))
}

function lineOf(file: string, specifier: string): number {
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.findIndex((line) => line.includes(`'${specifier}'`) || line.includes(`"${specifier}"`)) + 1
}
