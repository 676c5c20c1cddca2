/** What the words after the program's name ask for; `launcherOptions` writes them. */
export interface Orders {
  task: 'call' | 'check' | 'docs'
  /** The reference as the user wrote it, for its documentation. */
  as: string
  rootdir: string
  bootstrap: string | undefined
  module: string
  /** None for a function of the module. */
  className: string | undefined
  method: string
  args: string[]
  /** The places of arguments that are JSON. */
  json: number[]
  /** Seconds between calls; undefined for a single one. */
  interval: number | undefined
  keepGoing: boolean
  loose: boolean
  print: boolean
  compileCache: boolean
}

/** `Report::send`, or the name of a function. */
export const nameOf = ({ className, method }: Pick<Orders, 'className' | 'method'>): string =>
  className === undefined ? method : `${className}::${method}`

export function readOrders(words: readonly string[]): Orders {
  const end = words.indexOf('--')
  const options = new Map(words.slice(0, end).map(parseOption))
  const reference = words[end + 1] ?? ''
  const hash = reference.lastIndexOf('#')
  const [name = '', method] = reference.slice(hash + 1).split('::')
  const task = options.get('task')
  const interval = options.get('daemon')
  return {
    task: task === 'check' || task === 'docs' ? task : 'call',
    as: options.get('as') ?? reference,
    rootdir: options.get('rootdir') ?? '.',
    bootstrap: options.get('bootstrap'),
    module: reference.slice(0, hash),
    className: method === undefined ? undefined : name,
    method: method ?? name,
    args: words.slice(end + 2),
    json: options.get('json')?.split(',').map(Number) ?? [],
    interval: interval === undefined ? undefined : Number(interval),
    keepGoing: options.has('keep-going'),
    loose: options.has('loose'),
    print: options.has('print'),
    compileCache: options.has('compile-cache'),
  }
}

function parseOption(word: string): [name: string, value: string] {
  const equals = word.indexOf('=')
  return equals === -1 ? [word.slice(2), ''] : [word.slice(2, equals), word.slice(equals + 1)]
}
