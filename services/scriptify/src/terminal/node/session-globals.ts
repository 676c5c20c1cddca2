import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { importModule } from '../../classes/node/project-syntax.ts'
import type { Evaluator } from './evaluator.ts'

/** The names by which evaluated code reaches the session; not enumerable, so that they are not listed. */
export const IMPORT = '__scriptify_import'
export const META = '__scriptify_meta'

export interface SessionGlobals {
  /** The names that the user and the preload declared or assigned. */
  userNames(): string[]
  /** The values of these names. */
  userVariables(): Map<string, unknown>
}

/** Prepares the global scope: imports and `require` resolve from the project's folder. */
export function prepareGlobals(evaluator: Pick<Evaluator, 'lexicalNames' | 'read'>): SessionGlobals {
  const here = pathToFileURL(join(process.cwd(), '[terminal]')).href
  const resolve = (specifier: string) => import.meta.resolve(specifier, here)
  Object.defineProperty(globalThis, IMPORT, {
    value: async (specifier: string, options?: ImportCallOptions) =>
      importModule(resolve(specifier), options),
  })
  Object.defineProperty(globalThis, META, { value: { url: here, dirname: process.cwd(), resolve } })
  // Not enumerable, as in Node's own prompt: it shows the modules of scriptify.
  Object.defineProperty(globalThis, 'require', {
    value: createRequire(here),
    writable: true,
    configurable: true,
  })
  const ownNames = new Set(Object.getOwnPropertyNames(globalThis))
  const userNames = () => {
    const globals = Object.keys(globalThis).filter((name) => !ownNames.has(name))
    return [...new Set([...evaluator.lexicalNames(), ...globals])].filter((name) => name !== '_')
  }
  return { userNames, userVariables: () => evaluator.read(userNames()) }
}

export function defineGlobal(name: string, value: unknown): void {
  // A `var`, which an enum becomes, can be assigned to but not defined again.
  if (Object.getOwnPropertyDescriptor(globalThis, name)?.configurable === false)
    return void Reflect.set(globalThis, name, value)
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: true })
}
