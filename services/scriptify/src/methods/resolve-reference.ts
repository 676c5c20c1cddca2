import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-codes.ts'
import { findModule, getModule } from '../runtimes/node/find-module.ts'
import type { MethodReference } from '../runtimes/runtime.ts'

export interface ReferenceOptions {
  rootdir: string
  runtime: 'php' | 'node' | undefined
  allowOutside: boolean
  bootstrap: string | undefined
  env: NodeJS.ProcessEnv
}

const NAME = '[A-Za-z_\\u0080-\\u{10ffff}][\\w\\u0080-\\u{10ffff}]*'
const CLASS_REFERENCE = new RegExp(`^\\\\*(${NAME}(?:\\\\+${NAME})*)::(${NAME})$`, 'u')
const MODULE_REFERENCE = /^(?<path>.+)#(?<name>[\p{ID_Start}$_][\p{ID_Continue}$]*)(?:::(?<method>[^:#]+))?$/u
const MODULE_FILE = /\.[cm]?[jt]s(#|::|$)/
const SHAPES = '\\Name\\Space\\Class::method, path/module.ts#Class::method or path/module.ts#function'

/**
 * Finds what a reference means: `\Ns\Class::method`, with doubled backslashes too, or `path/module.ts#Class::method`.
 * Throws a CliError: 2 for what cannot be one or could be of either language, 3 for a module that does not exist.
 */
export function resolveReference(text: string, options: ReferenceOptions): MethodReference {
  if (text.includes('#') || MODULE_FILE.test(text)) return resolveModuleReference(text, options)
  const [, written = '', method = ''] = CLASS_REFERENCE.exec(text) ?? []
  if (written === '') throw new CliError(`${JSON.stringify(text)} is no method: give ${SHAPES}`, EXIT.usage)
  const className = written.replace(/\\+/g, '\\')
  if (options.runtime === 'php') return { runtime: 'php', className, method, text }

  const { found, lookedFor } = findModule(className, options)
  const isPhp = options.runtime === undefined && looksLikePhp(options)
  if (found !== undefined && isPhp) {
    throw new CliError(
      `${className} may be php (by composer.json) or node (${found}): say which with --runtime`,
      EXIT.usage,
    )
  }
  if (found !== undefined) return { runtime: 'node', className: found, method, text }
  if (isPhp || (options.runtime === undefined && options.env.SCRIPTIFY_BOOTLOADER)) {
    return { runtime: 'php', className, method, text }
  }
  if (lookedFor.length > 0) {
    throw new CliError(`There is no class ${className}: looked for ${lookedFor.join(', ')}`, EXIT.notFound)
  }
  // Under --runtime node the project may well have one.
  const has =
    options.runtime === undefined
      ? 'no composer.json, and no scriptify.namespaces'
      : 'no scriptify.namespaces'
  throw new CliError(
    `Nothing tells where ${className} is: ${options.rootdir} has ${has} for it`,
    EXIT.notFound,
  )
}

function resolveModuleReference(text: string, options: ReferenceOptions): MethodReference {
  const { path = '', name = '', method } = MODULE_REFERENCE.exec(text)?.groups ?? {}
  if (path === '') throw new CliError(`${JSON.stringify(text)} is no method: give ${SHAPES}`, EXIT.usage)
  if (options.runtime === 'php') {
    throw new CliError(`${JSON.stringify(text)} is a node reference, and --runtime says php`, EXIT.usage)
  }
  const module = getModule(path, options)
  return method === undefined
    ? { runtime: 'node', className: module, method: name, text }
    : { runtime: 'node', className: `${module}#${name}`, method, text }
}

const looksLikePhp = ({ rootdir, bootstrap }: ReferenceOptions): boolean =>
  bootstrap?.endsWith('.php') === true ||
  ['composer.json', 'vendor/autoload.php'].some((file) => existsSync(join(rootdir, file)))
