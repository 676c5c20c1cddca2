import { join } from 'node:path'
import { parseEnvFile, requirePlainEnvFile } from '../env-file.ts'
import type { FoundFile } from '../inspect-service.ts'
import { isMark } from '../ownership.ts'
import { environmentFile } from '../paths.ts'
import type { InstallRequest } from './install-request.ts'
import { isRecordLine } from './kept-options.ts'

/** What a new installation keeps of the replaced one. */
export interface KeptVariables {
  readonly variables: Readonly<Record<string, string>>
  /** The lines to keep of the environment file. */
  readonly text: string
  /** What is kept, for a message: names without values. Undefined where nothing is. */
  readonly summary: string | undefined
}

/**
 * The variables of the replaced service that are not given again; an admin may have added a secret by hand. Throws exit code 2
 * for a line that is not plain.
 */
export function findKeptVariables(
  { name, root, force }: InstallRequest,
  existing: readonly FoundFile[],
  given: Readonly<Record<string, string>>,
): KeptVariables {
  const path = join(root, environmentFile(name))
  const file = force ? existing.find((found) => found.path === path) : undefined
  requirePlainEnvFile(file?.text ?? '', path)
  const variables = parseEnvFile(file?.text ?? '')
  const names = Object.keys(variables).filter((variable) => !Object.hasOwn(given, variable))
  return {
    variables,
    text: withoutHeader(file?.text ?? ''),
    summary: names.length === 0 ? undefined : `from ${path}: ${names.join(', ')}`,
  }
}

/** The text without the lines of scriptify among its first three, which are written again. */
const withoutHeader = (text: string): string =>
  text
    .split('\n')
    .filter((line, index) => index > 2 || !(isMark(line) || isRecordLine(line)))
    .join('\n')
