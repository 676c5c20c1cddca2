import type { CallerTask } from '../caller-options.ts'

/** The options of `call-method.ts`, which `formatCallerOptions` writes. */
export interface CallerOptions {
  task: CallerTask
  /** The reference as the user wrote it, for its documentation. */
  as: string
  rootdir: string
  bootstrap: string | undefined
  module: string
  /** Undefined for a function of the module. */
  className: string | undefined
  method: string
  args: string[]
  /** Indexes of the arguments that are JSON. */
  json: number[]
  /** Seconds between calls; undefined for a single call. */
  interval: number | undefined
  keepGoing: boolean
  loose: boolean
  print: boolean
}

/** `Report::send`, or the name of a function. */
export const displayName = ({ className, method }: Pick<CallerOptions, 'className' | 'method'>): string =>
  className === undefined ? method : `${className}::${method}`

export function parseCallerOptions(words: readonly string[]): CallerOptions {
  const end = words.indexOf('--')
  const options = new Map(words.slice(0, end).map(parseOption))
  const reference = words[end + 1] ?? ''
  const interval = options.get('daemon')
  return {
    ...parseReference(reference),
    task: toTask(options.get('task')),
    as: options.get('as') ?? reference,
    rootdir: options.get('rootdir') ?? '.',
    bootstrap: options.get('bootstrap'),
    args: words.slice(end + 2),
    json: options.get('json')?.split(',').map(Number) ?? [],
    interval: interval === undefined ? undefined : Number(interval),
    keepGoing: options.has('keep-going'),
    loose: options.has('loose'),
    print: options.has('print'),
  }
}

/** `/path/module.ts#Class::method`, or `/path/module.ts#function`; a path may contain a `#`. */
function parseReference(reference: string): Pick<CallerOptions, 'module' | 'className' | 'method'> {
  const hash = reference.lastIndexOf('#')
  const module = reference.slice(0, hash)
  const [name = '', method] = reference.slice(hash + 1).split('::')
  return method === undefined
    ? { module, className: undefined, method: name }
    : { module, className: name, method }
}

const TASKS: readonly CallerTask[] = ['check', 'docs', 'methods']

const toTask = (text: string | undefined): CallerTask => TASKS.find((task) => task === text) ?? 'call'

function parseOption(word: string): [name: string, value: string] {
  const equals = word.indexOf('=')
  return equals === -1 ? [word.slice(2), ''] : [word.slice(2, equals), word.slice(equals + 1)]
}
