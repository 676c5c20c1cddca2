import type { Interface, Key } from 'node:readline'

export interface HistorySearch {
  /** Takes a key of the search; false for one that readline has to handle. */
  handle(text: string | undefined, key: Key): boolean
}

export interface HistorySearchOptions {
  rl: Pick<Interface, 'line' | 'getPrompt' | 'setPrompt' | 'prompt' | 'write'>
  /** The entries, the newest first. */
  entries: readonly string[]
  /** Puts an entry into the empty line. */
  recall(entry: string): void
}

interface SearchState {
  readonly prompt: string
  readonly line: string
  query: string
  /** The index of the entry that is shown; -1 for none. */
  found: number
}

/**
 * Ctrl-R, as in bash: typing narrows the search, Ctrl-R goes to an older entry, Ctrl-G and Ctrl-C cancel, and any other key
 * ends it with the entry in the line. Of Node only the REPL has it, and that evaluates each line of a paste at once.
 */
export function createHistorySearch({ rl, entries, recall }: HistorySearchOptions): HistorySearch {
  let state: SearchState | undefined
  const start = () => {
    state = { prompt: rl.getPrompt(), line: rl.line, query: '', found: -1 }
    rl.write(null, { ctrl: true, name: 'e' })
    rl.write(null, { ctrl: true, name: 'u' })
    show(state)
  }
  const show = ({ query, found }: SearchState) => {
    const entry = (entries[found] ?? '').replaceAll('\n', ' ')
    rl.setPrompt(`(${found === -1 && query !== '' ? 'nothing with' : 'search'} '${query}') ${entry}`)
    rl.prompt()
  }
  const search = (current: SearchState, query: string, first: number) => {
    const found =
      query === '' ? -1 : entries.findIndex((entry, index) => index >= first && entry.includes(query))
    // Ctrl-R at the oldest entry stays there.
    if (found !== -1 || query !== current.query) Object.assign(current, { query, found })
    show(current)
  }
  const end = ({ prompt }: SearchState, line: string) => {
    state = undefined
    rl.setPrompt(prompt)
    if (line === '') rl.prompt()
    else recall(line)
  }
  return {
    handle(text, key) {
      if (state === undefined) {
        if (!(key.ctrl && key.name === 'r')) return false
        start()
        return true
      }
      const { query, found } = state
      if (key.ctrl && key.name === 'r') search(state, query, found + 1)
      else if (key.name === 'backspace') search(state, query.slice(0, -1), 0)
      else if (key.ctrl && (key.name === 'g' || key.name === 'c')) end(state, state.line)
      else if (isTyped(text, key)) search(state, query + text, Math.max(0, found))
      else {
        end(state, entries[found] ?? state.line)
        return key.name === 'escape'
      }
      return true
    },
  }
}

const isTyped = (text: string | undefined, { ctrl, meta }: Key): text is string =>
  text !== undefined && !ctrl && !meta && !/\p{Cc}/u.test(text)
