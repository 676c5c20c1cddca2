import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { EXIT } from '../../../exit-codes.ts'

/** What the language throws at code that is wrong; everything else was made to be read. */
const MISTAKES = [TypeError, ReferenceError, RangeError, SyntaxError, EvalError, URIError]
/** Where the text is that could not be read; the frames below are Node's own. */
const HEAD = /^((?:file:\/\/)?\/.*):(\d+)\n/
const FRAME = /^ +at (?:async )?(?:.*? \()?((?:file:\/\/)?\/.*?):(\d+):\d+\)?$/m

export interface Ending {
  /** What is going on that must not be ended by a process.exit() of the project; undefined when it may. */
  during(underway: string | undefined): void
  /** What is waited for, which may turn out never to come. */
  waitingFor(what: string | undefined): void
}

/** Sees to it that the program ends with one line on stderr and an exit code, whoever ends it. */
export function watchEnding(): Ending {
  let underway: string | undefined
  let awaited: string | undefined
  process.on('exit', () => {
    if (underway === undefined) return
    console.error(`${underway} ended the process before the method was called`)
    process.exitCode = EXIT.failed
  })
  // Only comes when nothing is left that could still happen.
  process.on('beforeExit', () => {
    if (awaited === undefined) return
    console.error(`${awaited} never finished: it waits for something that nothing can bring any more`)
    underway = undefined
    process.exit(EXIT.failed)
  })
  process.on('uncaughtException', (error) => {
    console.error(describe(error))
    underway = undefined
    process.exit(EXIT.failed)
  })
  return {
    during: (what) => {
      underway = what
      awaited = what
    },
    waitingFor: (what) => {
      awaited = what
    },
  }
}

/** In one line the message; of a mistake in the code also its kind and place; all there is with SCRIPTIFY_DEBUG. */
export function describe(error: unknown): string {
  if (error instanceof Error && process.env.SCRIPTIFY_DEBUG) return inspect(error)
  return summaryOf(error)
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ')
}

function summaryOf(error: unknown): string {
  if (!(error instanceof Error)) return `Thrown: ${inspect(error)}`
  const message = messageOf(error)
  if (message !== '' && !MISTAKES.some((Mistake) => error instanceof Mistake)) return message
  return `${error.name}: ${message}${placeOf(error)}`
}

/** What fails for each of several addresses has its words in its parts only. */
function messageOf(error: Error): string {
  if (error.message !== '' || !(error instanceof AggregateError)) return error.message
  return error.errors.map((each) => (each instanceof Error ? each.message : String(each))).join('; ')
}

function placeOf({ stack = '' }: Error): string {
  const [, file, line] = HEAD.exec(stack) ?? FRAME.exec(stack) ?? []
  if (file === undefined) return ''
  const path = file.startsWith('file:') ? fileURLToPath(file) : file
  const near = relative(process.cwd(), path)
  return ` (${near.startsWith('..') ? path : near}:${line})`
}
