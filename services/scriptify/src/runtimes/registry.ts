import { nodeMethods } from './node/method-command.ts'
import { phpMethods } from './php/method-command.ts'
import type { MethodRuntime } from './runtime.ts'

/** The languages, by the name that `MethodReference.runtime` has for them. */
export const methodRuntimes: Record<MethodRuntime['name'], MethodRuntime> = {
  php: phpMethods,
  node: nodeMethods,
}
