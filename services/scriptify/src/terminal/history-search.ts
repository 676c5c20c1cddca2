import type { Interface, Key } from 'node:readline'

export interface HistorySearch {
  /** Takes a key of the search; false for one that readline has to handle. */
  handle(text: string | undefined, key: Key): boolean
}

interface SearchState {
  query: string
  /** The index of the entry that is shown; -1 for none. */
  found: number
  readonly prompt: string
  readonly line: string
}

/**
 * Ctrl-R, as in bash: typing narrows the search, Ctrl-R goes to an older entry, Ctrl-G and Ctrl-C cancel, and any other key
 * ends it with the entry in the line. readline itself has it in the REPL of Node only.
 */
export function createHistorySearch(rl: Interface, entries: () => readonly string[]): HistorySearch {
  let state: SearchState | undefined
  const findFrom = (query: string, first: number) =>
    entries().findIndex((entry, index) => index >= first && entry.includes(query))
  const show = ({ query, found }: SearchState) => {
    rl.setPrompt(found === -1 && query !== '' ? `(nothing with '${query}') ` : `(search '${query}') `)
    replaceLine(rl, entries()[found] ?? '')
  }
  const search = (current: SearchState, query: string, first: number) => {
    const found = query === '' ? -1 : findFrom(query, first)
    // Ctrl-R at the oldest entry stays there.
    if (found !== -1 || query !== current.query) Object.assign(current, { query, found })
    show(current)
  }
  const end = ({ prompt }: SearchState, line: string) => {
    state = undefined
    rl.setPrompt(prompt)
    replaceLine(rl, line)
  }
  return {
    handle(text, key) {
      if (state === undefined) {
        if (!(key.ctrl && key.name === 'r')) return false
        state = { query: '', found: -1, prompt: rl.getPrompt(), line: rl.line }
        show(state)
        return true
      }
      const { query, found } = state
      if (key.ctrl && key.name === 'r') search(state, query, found + 1)
      else if (key.name === 'backspace') search(state, query.slice(0, -1), 0)
      else if (key.ctrl && (key.name === 'g' || key.name === 'c')) end(state, state.line)
      else if (isTyped(text, key)) search(state, query + text, Math.max(0, found))
      else {
        end(state, entries()[found] ?? state.line)
        return key.name === 'escape'
      }
      return true
    },
  }
}

const isTyped = (text: string | undefined, { ctrl, meta }: Key): text is string =>
  text !== undefined && !ctrl && !meta && !/\p{Cc}/u.test(text)

/** readline has no method for it. */
function replaceLine(rl: Interface, line: string): void {
  Reflect.set(rl, 'line', line)
  Reflect.set(rl, 'cursor', line.length)
  Reflect.set(rl, 'historyIndex', -1)
  rl.prompt(true)
}
