import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { printableLines } from '@latchkey/text/printable.ts'
import { CliError } from '../../io/cli-error.ts'
import type { CallerOptions } from '../method-call.ts'

/** Causes may be a circle, and a list of any length. */
const MAX_ERRORS = 10
export const MAX_FRAMES = 30
/** Errors of the language itself, which hint at a bug; the message of any other error is written for a reader. */
const LANGUAGE_ERRORS = [TypeError, ReferenceError, RangeError, SyntaxError, EvalError, URIError]
/** The file and line of a text that cannot be parsed; the frames below it are Node's own. */
const PARSED_FILE = /^((?:file:\/\/)?\/.*):(\d+)\n/
const FRAME = /^ +at (?:async )?(?:.*? \()?((?:file:\/\/)?\/.*?):(\d+):\d+\)?$/
const OWN_FOLDER = join(import.meta.dirname, '../..', '/')

/** Writes why the task failed to stderr: the text may be that of the project, or of whom it asked. */
export const printError = (text: string): void => console.error(printableLines(text))

/**
 * Names the error and its causes in one line, or with `trace` each by its class, its place and the frames of the project.
 * Neither shows another property of an error, which may be a secret.
 */
export function describeError(
  error: unknown,
  { task, trace }: Pick<CallerOptions, 'task' | 'trace'>,
): string {
  if (error instanceof CliError) return error.message
  const errors = [...collectErrors(error)]
  const traced = describeAll(errors, withFrames).join('\n  caused by ')
  if (trace) return traced
  const [first = '', ...causes] = describeAll(errors, summaryOf).filter(Boolean)
  const separator = hasText(error) ? ', caused by: ' : '; '
  const line = causes.length === 0 ? first : first + separator + causes.join('; ')
  return task === 'call' && traced.includes('\n') ? `${line} (more: --trace)` : line
}

/** Each error once, before its causes, and one more than are described. */
function collectErrors(error: unknown, found = new Set<unknown>()): Set<unknown> {
  if (found.size > MAX_ERRORS || found.has(error)) return found
  found.add(error)
  for (const cause of causesOf(error)) collectErrors(cause, found)
  return found
}

function causesOf(error: unknown): unknown[] {
  if (!(error instanceof Error)) return []
  const parts = error instanceof AggregateError ? error.errors : []
  const both = error instanceof SuppressedError ? [error.error, error.suppressed] : []
  return [error.cause, ...parts, ...both].filter((cause) => cause != null)
}

const describeAll = (errors: unknown[], describe: (error: unknown, index: number) => string): string[] =>
  errors.map((error, index) => (index === MAX_ERRORS ? '…' : describe(error, index)))

/** An attempt at several addresses has messages in its parts only. */
const hasText = (error: unknown): boolean =>
  !(error instanceof AggregateError && error.message === '' && error.errors.length > 0)

function summaryOf(error: unknown, index: number): string {
  if (!(error instanceof Error)) return index === 0 ? `Thrown: ${toLine(inspect(error))}` : nameValue(error)
  if (!hasText(error)) return ''
  const isForReader = error.message !== '' && !LANGUAGE_ERRORS.some((Type) => error instanceof Type)
  return isForReader ? toLine(error.message) : headlineOf(error)
}

function withFrames(error: unknown, index: number): string {
  if (!(error instanceof Error)) return summaryOf(error, index)
  return [headlineOf(error), ...framesOf(error).slice(0, MAX_FRAMES).map(shorten)].join('\n')
}

function headlineOf(error: Error): string {
  const name = error.name === 'Error' ? error.constructor.name : error.name
  return [name, toLine(error.message)].filter(Boolean).join(': ') + placeOf(error)
}

/** A cause is often an object that was at hand, with whatever is in it. */
const nameValue = (value: unknown): string => toLine(inspect(value, { depth: -1, customInspect: false }))

const toLine = (text: string): string => `${text}`.trim().replaceAll(/\s*\n\s*/g, ' ')

function placeOf(error: Error): string {
  const [frame = ''] = framesOf(error)
  const [, file, line] = PARSED_FILE.exec(error.stack ?? '') ?? FRAME.exec(frame) ?? []
  return file === undefined ? '' : ` (${shortPath(file)}:${line})`
}

/** The frames of the project; a line of the message may look like one. */
const framesOf = ({ stack = '', message }: Error): string[] =>
  stack.replace(message, '').split('\n').filter(isOfProject)

function isOfProject(line: string): boolean {
  const [, file] = FRAME.exec(line) ?? []
  return file !== undefined && !toPath(file).startsWith(OWN_FOLDER)
}

const shorten = (frame: string): string => frame.replace(FRAME.exec(frame)?.[1] ?? '', shortPath)

function shortPath(file: string): string {
  const path = toPath(file)
  const near = relative(process.cwd(), path)
  return near.startsWith('..') ? path : near
}

function toPath(file: string): string {
  try {
    return fileURLToPath(file)
  } catch {
    // It is a path already.
    return file
  }
}
