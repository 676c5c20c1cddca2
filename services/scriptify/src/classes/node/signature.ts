import type { CallableMember } from './callable.ts'
import {
  findFunctionDeclaration,
  findMethodDeclaration,
  type Parameter,
  parametersOf,
} from './declaration.ts'

/** The arguments that a call of a method has to give, and the comment of the method. */
export interface Signature {
  parameters: Parameter[]
  comment: string
}

/** Reads parameters and comment where the method is written, with its types, else from the function itself. */
export function readSignature({ name, callable, owner, module }: CallableMember): Signature {
  const found = owner
    ? findMethodDeclaration(name, { className: owner.name, module })
    : findFunctionDeclaration(callable.name, module)
  return { parameters: found?.parameters ?? parametersOf(callable), comment: found?.comment ?? '' }
}

/** `--arg <username: string> [--arg <name = ''>]` */
export function formatParameters({ parameters }: Signature): string {
  return parameters
    .map(({ text, isOptional, isRest }) => {
      const word = `--arg <${text}>`
      return isRest ? `[${word} …]` : isOptional ? `[${word}]` : word
    })
    .join(' ')
}

/** The comment, and how to call what `reference` names. */
export function formatDocs(reference: string, signature: Signature): string {
  const usage = `Usage: scriptify run '${reference}' ${formatParameters(signature)}`.trimEnd()
  return `${signature.comment === '' ? '' : `${signature.comment}\n\n`}${usage}\n`
}
