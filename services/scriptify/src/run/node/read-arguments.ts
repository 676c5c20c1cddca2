import { CliError, EXIT, errorMessage } from '../../io/cli-error.ts'
import { parseExactJson } from '../../io/exact-json.ts'
import type { CallerOptions } from '../method-call.ts'
import type { Target } from './target.ts'

/** The values of the arguments, by the types of the parameters; throws a CliError (2) for one that does not fit. */
export async function readArguments(
  target: Target,
  { args, jsonArgs = [] }: CallerOptions,
): Promise<unknown[]> {
  if (args.length === 0) return []
  const { readSignature } = await import('../../classes/node/signature.ts')
  const { parameters } = readSignature(target)
  return args.map((text, index) => {
    const argument = jsonArgs.includes(index) ? parseJson(text, index) : text
    const rest = parameters.at(-1)
    const parameter = parameters[index] ?? rest
    if (parameter === undefined) return argument
    const found = parameter.read(argument)
    if (found.length > 0) return found[0]
    const shown = JSON.stringify(argument).replace(/^(.{40}).+$/su, '$1…')
    const choices = parameter.read.choices === undefined ? '' : `: give ${parameter.read.choices.join(', ')}`
    throw new CliError(
      `Argument ${index + 1}, ${shown}, does not fit <${parameter.text}>${choices}`,
      EXIT.usage,
    )
  })
}

function parseJson(text: string, index: number): unknown {
  try {
    return parseExactJson(text)
  } catch (error) {
    throw new CliError(`Argument ${index + 1} is not JSON: ${errorMessage(error)}`, EXIT.usage)
  }
}
