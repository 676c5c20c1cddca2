import type { MethodRuntime } from './method-runtime.ts'
import { nodeMethods } from './node/methods.ts'
import { phpMethods } from './php/methods.ts'

/** The languages, by the name that `MethodReference.runtime` has for them. */
export const methodRuntimes: Record<MethodRuntime['name'], MethodRuntime> = {
  php: phpMethods,
  node: nodeMethods,
}
