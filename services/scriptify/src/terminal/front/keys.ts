import { emitKeypressEvents, type Interface, type Key } from 'node:readline'
import { PassThrough } from 'node:stream'
import type { HistorySearch } from './history-search.ts'

/** Switches bracketed paste on or off: whether the terminal tells what is pasted from what is typed. */
export const setPasteMode = (isOn: boolean): void =>
  void process.stdout.write(isOn ? '\x1b[?2004h' : '\x1b[?2004l')

export interface Paste {
  isStarted(): boolean
  drop(): void
  /** Returns the entry that the line completes; undefined until a paste is complete. */
  add(line: string): string | undefined
}

/** The input of readline in place of the terminal: the keys that `readKeys` passes on. */
export function createKeys(): PassThrough {
  // readline sets the mode of its input, also after Ctrl-Z and `fg`.
  return Object.assign(new PassThrough(), { setRawMode: (mode: boolean) => process.stdin.setRawMode(mode) })
}

/**
 * Passes the keys of the terminal to readline, and a bracketed paste in one piece: key by key, each would cost as much as the
 * line is long.
 */
export function readKeys(keys: PassThrough, rl: Interface, search: HistorySearch): Paste {
  const { stdin: input } = process
  let pasted: string[] | undefined
  let lines: string[] | undefined
  let isInserting = false
  const insert = (text: string) => {
    lines = []
    isInserting = true
    rl.write(text)
    isInserting = false
  }
  const receive = (text: string | undefined, key: Key) => {
    // readline stops the process, and the shell may know no pastes.
    if (key.ctrl && key.name === 'z') setPasteMode(false)
    if (!search.handle(text, key)) keys.emit('keypress', text, key)
  }
  input.on('keypress', (text: string | undefined, key: Key) => {
    if (key.name === 'paste-start') {
      search.handle(text, key)
      pasted = []
    } else if (pasted !== undefined && key.ctrl && key.name === 'c') {
      pasted = undefined
      keys.emit('keypress', text, key)
    } else if (key.name === 'paste-end') {
      insert((pasted ?? []).join(''))
      pasted = undefined
    } else if (pasted !== undefined) pasted.push(withoutControls(text ?? ''))
    else receive(text, key)
  })
  input.on('end', () => rl.close())
  emitKeypressEvents(input, rl)
  input.resume()
  return {
    isStarted: () => lines !== undefined,
    drop: () => {
      pasted = undefined
      lines = undefined
    },
    add(line: string): string | undefined {
      if (lines !== undefined && isInserting) {
        lines.push(line)
        return undefined
      }
      const entry = [...(lines ?? []), line].join('\n')
      lines = undefined
      return entry
    },
  }
}

/** Control characters are not shown: a terminal would obey them, and code has no use for them. */
const withoutControls = (text: string): string => text.replaceAll(/[^\P{Cc}\t\n\r]/gu, '')
