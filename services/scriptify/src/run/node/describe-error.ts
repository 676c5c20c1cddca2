import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { printableLines } from '@latchkey/text/printable.ts'
import { errorMessage } from '../../io/cli-error.ts'

/** Errors of the language itself, which hint at a bug; the message of any other error is written for a reader. */
const LANGUAGE_ERRORS = [TypeError, ReferenceError, RangeError, SyntaxError, EvalError, URIError]
/** The file and line of a text that cannot be parsed; the frames below it are Node's own. */
const PARSED_FILE = /^((?:file:\/\/)?\/.*):(\d+)\n/
const FRAME = /^ +at (?:async )?(?:.*? \()?((?:file:\/\/)?\/.*?):(\d+):\d+\)?$/m

/** Writes why the task failed to stderr: the text may be that of the project, or of whom it asked. */
export const printError = (text: string): void => console.error(printableLines(text))

/** The message in one line, for an error of the language with its name and place; everything with `debug`. */
export function describeError(error: unknown, debug: boolean): string {
  if (error instanceof Error && debug) return inspect(error)
  return summaryOf(error)
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ')
}

function summaryOf(error: unknown): string {
  if (!(error instanceof Error)) return `Thrown: ${inspect(error)}`
  const message = messageOf(error)
  if (message !== '' && !LANGUAGE_ERRORS.some((Type) => error instanceof Type)) return message
  return `${error.name}: ${message}${placeOf(error)}`
}

/** An attempt at several addresses has messages in its parts only. */
function messageOf(error: Error): string {
  if (error.message !== '' || !(error instanceof AggregateError)) return error.message
  return error.errors.map((each) => errorMessage(each)).join('; ')
}

function placeOf({ stack = '' }: Error): string {
  const [, file, line] = PARSED_FILE.exec(stack) ?? FRAME.exec(stack) ?? []
  if (file === undefined) return ''
  const path = file.startsWith('file:') ? fileURLToPath(file) : file
  const near = relative(process.cwd(), path)
  return ` (${near.startsWith('..') ? path : near}:${line})`
}
