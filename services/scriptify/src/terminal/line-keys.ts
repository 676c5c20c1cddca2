import type { Interface, Key } from 'node:readline'
import { isDumb } from './has-colors.ts'
import { createHistorySearch } from './history-search.ts'

/** Takes a key; false for one that readline has to handle. */
export type HandleKey = (text: string | undefined, key: Key) => boolean

/** The keys that readline does not have: Ctrl-R, and on a dumb terminal all that change a line. */
export function createKeyHandler(rl: Interface): HandleKey {
  if (isDumb()) return (text, key) => handleDumbKey(rl, text, key)
  const entries = (): readonly string[] => Reflect.get(rl, 'history')
  return createHistorySearch(rl, entries).handle
}

/** readline would add the characters of Backspace and Ctrl-U to the line. */
function handleDumbKey(rl: Interface, text: string | undefined, key: Key): boolean {
  if (key.name === 'backspace') erase(rl, 1)
  else if (key.ctrl && key.name === 'u') erase(rl, rl.line.length)
  else if (key.name === 'return' || key.name === 'enter') return false
  else if (key.ctrl && (key.name === 'c' || (key.name === 'd' && rl.line === ''))) return false
  else return text === undefined || key.meta === true || /\p{Cc}/u.test(text)
  return true
}

function erase(rl: Interface, count: number): void {
  const characters = Array.from(rl.line)
  const erased = characters.splice(-count, count)
  process.stdout.write('\b \b'.repeat(erased.length))
  Reflect.set(rl, 'line', characters.join(''))
  Reflect.set(rl, 'cursor', rl.line.length)
}
