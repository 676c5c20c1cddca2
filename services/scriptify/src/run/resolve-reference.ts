import { closestName, didYouMean } from '@latchkey/text/closest-name.ts'
import { chooseClassRuntime, type RuntimeName, runtimeOfFile } from '../classes/choose-runtime.ts'
import { findModule, getModule, listClasses } from '../classes/node/find-module.ts'
import { CliError, EXIT } from '../io/cli-error.ts'
import type { MethodReference } from './method-call.ts'

export interface ReferenceOptions {
  rootdir: string
  runtime: RuntimeName | undefined
  bootstrap: string | undefined
  env: NodeJS.ProcessEnv
}

const NAME = '[A-Za-z_\\u0080-\\u{10ffff}][\\w\\u0080-\\u{10ffff}]*'
const CLASS_REFERENCE = new RegExp(`^\\\\*(${NAME}(?:\\\\+${NAME})*)(?:::(${NAME}))?$`, 'u')
const MODULE_REFERENCE =
  /^(?<path>.+?)#(?<name>[\p{ID_Start}$_][\p{ID_Continue}$\\]*)(?:::(?<method>#?[^:#]+))?$/u
const MODULE_FILE = /\.(?:[cm]?[jt]s|php)(#|::|$)/
const FORMS =
  '\\Name\\Space\\Class::method, path/file.php#Class::method, path/module.ts#Class::method or path/module.ts#function'

/**
 * Finds the method that a reference names: `\Ns\Class::method`, with doubled backslashes too, or
 * `path/module.ts#Class::method`; or only the class, as `\Ns\Class`. Throws a CliError: 2 for invalid or ambiguous
 * text, 3 for a module that does not exist.
 */
export function resolveReference(text: string, options: ReferenceOptions): MethodReference {
  return text.includes('#') || MODULE_FILE.test(text)
    ? resolveModuleReference(text, options)
    : resolveClassReference(text, options)
}

function resolveModuleReference(text: string, options: ReferenceOptions): MethodReference {
  const { path = '', name = '', method } = MODULE_REFERENCE.exec(text)?.groups ?? {}
  if (path === '') throw text.includes('#') ? invalidReference(text) : withoutExport(text)
  const runtime = runtimeOfFile(path) ?? 'node'
  if (options.runtime !== undefined && options.runtime !== runtime) {
    throw new CliError(
      `${JSON.stringify(text)} is a ${runtime} reference, and --runtime says ${options.runtime}`,
      EXIT.usage,
    )
  }
  const module = getModule(path, options)
  if (runtime === 'php') return { runtime, module, className: name, method: method ?? '', text }
  return method === undefined
    ? { runtime: 'node', module, method: name, text }
    : { runtime: 'node', module, className: name, method, text }
}

function resolveClassReference(text: string, options: ReferenceOptions): MethodReference {
  const [, written = '', method = ''] = CLASS_REFERENCE.exec(text) ?? []
  if (written === '') throw invalidReference(text)
  const className = written.replace(/\\+/g, '\\')
  const phpReference: MethodReference = { runtime: 'php', className, method, text }
  if (options.runtime === 'php') return phpReference

  const { found, lookedFor } = findModule(className, options)
  const runtime = chooseClassRuntime(className, { ...options, module: found })
  if (runtime === 'php') return phpReference
  if (found === undefined) throw classNotFound(className, lookedFor, options)
  return { runtime: 'node', module: found, className: className.split('\\').at(-1), method, text }
}

const invalidReference = (text: string): CliError =>
  new CliError(`${JSON.stringify(text)} is not a method reference: give ${FORMS}`, EXIT.usage)

/** A reference that only names a module, as `src/report.ts` or `src/report.ts::send`. */
function withoutExport(text: string): CliError {
  const [file = '', method = 'method'] = text.split('::')
  return new CliError(
    `${JSON.stringify(text)} is not a method reference: name what the module exports, ${file}#Class::${method} or ${file}#function`,
    EXIT.usage,
  )
}

function classNotFound(className: string, lookedFor: string[], options: ReferenceOptions): CliError {
  const hint = hintAtClass(className, listClasses(options.rootdir))
  if (lookedFor.length > 0) {
    return new CliError(
      `Class ${className} does not exist${hint}: looked for ${lookedFor.join(', ')}`,
      EXIT.notFound,
    )
  }
  // A project with --runtime node may have a composer.json too.
  const missing =
    options.runtime === undefined
      ? 'no composer.json, and no scriptify.namespaces'
      : 'no scriptify.namespaces'
  return new CliError(
    `Could not locate ${className}: ${options.rootdir} has ${missing} for it${hint}`,
    EXIT.notFound,
  )
}

/** Returns a hint at the class that the name of a missing class may mean. */
function hintAtClass(className: string, classes: readonly string[]): string {
  const unquoted = classes.find((name) => name.includes('\\') && name.replaceAll('\\', '') === className)
  if (unquoted !== undefined) return ` (did you mean ${unquoted}? Quote it: the shell removes backslashes)`
  return didYouMean(className, classes) || hintAtNamespace(className, classes)
}

/** Asks about a class that was named without its namespace. */
function hintAtNamespace(className: string, classes: readonly string[]): string {
  if (className.includes('\\')) return ''
  const shortNames = new Map(classes.map((name) => [name.split('\\').at(-1) ?? '', name]))
  const closest = shortNames.get(closestName(className, shortNames.keys()) ?? '')
  return closest === undefined ? '' : ` (did you mean ${closest}?)`
}
