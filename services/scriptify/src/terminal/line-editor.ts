import { createInterface, emitKeypressEvents, type Interface, type Key, moveCursor } from 'node:readline'
import { PassThrough } from 'node:stream'
import { isDumb } from './has-colors.ts'
import { createKeyHandler, type HandleKey } from './line-keys.ts'
import { type PaintedLine, type PaintLine, paintReadline } from './painted-line.ts'

const PASTE_ON = '\x1b[?2004h'
const PASTE_OFF = '\x1b[?2004l'
const HISTORY_SIZE = 1000

export interface LineEditorOptions {
  /** Newest first. */
  history: readonly string[]
  /** The prompt of every line but the first. */
  continuation: string
  /** Undefined shows the line as it is. */
  paint: PaintLine | undefined
  /** One line, or all lines of a paste. */
  onEntry(text: string): void
  /** Ctrl-C. */
  onInterrupt(): void
  /** Ctrl-D, or the end of the terminal. */
  onClose(): void
  complete(line: string): Promise<{ word: string; candidates: string[] }>
}

export interface LineEditor {
  /** Shows a prompt, and takes the keyboard back if it was lent. */
  prompt(text: string): void
  /** Prints text above the line that is being typed. */
  printAbove(text: string): void
  /** Gives the keyboard to the code that runs, until the next prompt. */
  lendKeyboard(): void
  isEmpty(): boolean
  /** Discards what was typed or pasted, and moves below it; `mark` is shown at its end. */
  discard(mark: string): void
  /** Paints the line anew. */
  repaint(): void
  setHistory(entries: readonly string[]): void
  close(): void
}

/** Line editing, bracketed paste, recall and completion on the process's terminal. */
export function createLineEditor(options: LineEditorOptions): LineEditor {
  const { stdout: output } = process
  const keys = createKeys()
  const rl = openReadline(keys, options)
  const painted = options.paint && paintReadline(rl, options.paint)
  const paste = forwardKeys(keys, rl, { handle: createKeyHandler(rl), painted })
  const keyboard = createKeyboard(rl)
  const prompt = (text: string) => {
    rl.setPrompt(text)
    // The cursor stays behind what was typed while no prompt was shown.
    rl.prompt(true)
  }
  setPasteMode(PASTE_ON)
  rl.on('line', (typed) => {
    painted?.pause()
    // What is typed until the next prompt is shown without one.
    rl.setPrompt('')
    // readline separates the lines of a recalled statement by carriage returns.
    const entry = paste.add(typed.replaceAll('\r', '\n'))
    if (entry === undefined) prompt(options.continuation)
    else options.onEntry(entry)
  })
  return {
    prompt(text) {
      keyboard.takeBack()
      prompt(text)
    },
    printAbove(text) {
      clearLines(rl)
      output.write(`${text}\n`)
      rl.prompt(true)
    },
    lendKeyboard() {
      // The next prompt shows it.
      if (!keyboard.isLent() && rl.line !== '') clearLines(rl)
      keyboard.lend()
    },
    isEmpty: () => rl.line === '' && !paste.isStarted(),
    discard(mark) {
      paste.drop()
      painted?.finish()
      rl.write(null, { ctrl: true, name: 'e' })
      output.write(mark)
      // Not in readline's types: moves below the line, and empties it.
      Reflect.apply(Reflect.get(rl, 'clearLine'), rl, [])
      // The next Up starts at the newest entry again.
      Reflect.set(rl, 'historyIndex', -1)
    },
    // readline has no method for it.
    setHistory: (entries) => void Reflect.set(rl, 'history', entries.slice(0, HISTORY_SIZE)),
    repaint: () => painted?.update(),
    close: () => rl.close(),
  }
}

/** Removes the typed line from the screen; readline keeps it. */
function clearLines(rl: Interface): void {
  if (isDumb()) return void process.stdout.write('\n')
  moveCursor(process.stdout, 0, -rl.getCursorPos().rows)
  process.stdout.write('\r\x1b[J')
  Reflect.set(rl, 'prevRows', 0)
}

/** A dumb terminal would show the sequence. */
const setPasteMode = (sequence: string): void => void (isDumb() || process.stdout.write(sequence))

/** Resets the terminal's modes; safe without an editor and more than once. */
export function restoreTerminal(): void {
  setPasteMode(PASTE_OFF)
  if (process.stdin.isTTY) process.stdin.setRawMode(false)
  process.stdin.pause()
}

/** What readline reads instead of the terminal: the keys that `forwardKeys` hands on. */
function createKeys(): PassThrough {
  // readline sets the mode of its input, also after Ctrl-Z and `fg`.
  return Object.assign(new PassThrough(), { setRawMode: (mode: boolean) => process.stdin.setRawMode(mode) })
}

function openReadline(
  keys: PassThrough,
  { history, complete, onInterrupt, onClose }: LineEditorOptions,
): Interface {
  const { stdin: input, stdout: output } = process
  const rl = createInterface({
    input: keys,
    output,
    terminal: true,
    historySize: HISTORY_SIZE,
    history: history.slice(0, HISTORY_SIZE),
    removeHistoryDuplicates: true,
    completer: (line: string, answer: (error: Error | null, result: [string[], string]) => void) => {
      complete(line).then(
        ({ word, candidates }) => answer(null, [candidates, word]),
        () => answer(null, [[], line]),
      )
    },
  })
  // A terminal that was closed accepts neither text nor settings; SIGHUP reports the same.
  for (const stream of [rl, input, output]) stream.on('error', () => {})
  rl.on('SIGINT', onInterrupt)
  rl.on('close', onClose)
  // The shell has switched it off while this process was stopped by Ctrl-Z.
  rl.on('SIGCONT', () => setPasteMode(PASTE_ON))
  return rl
}

interface KeyReceivers {
  handle: HandleKey
  painted: PaintedLine | undefined
}

/**
 * Gives readline the keys of the terminal, and a bracketed paste in one piece: key by key, each would cost as much as the
 * line is long. The lines of a paste are one entry; the last one ends with the user's Enter, like a typed one.
 */
function forwardKeys(keys: PassThrough, rl: Interface, { handle, painted }: KeyReceivers) {
  const { stdin: input } = process
  let pasted: string[] | undefined
  let lines: string[] | undefined
  let isPasting = false
  const insert = (text: string) => {
    lines = []
    isPasting = true
    rl.write(text)
    isPasting = false
  }
  const receive = (text: string | undefined, key: Key) => {
    if (key.name === 'return' || key.name === 'enter') painted?.finish()
    // readline stops the process, and the shell may know no pastes.
    if (key.ctrl && key.name === 'z') setPasteMode(PASTE_OFF)
    if (!handle(text, key)) keys.emit('keypress', text, key)
  }
  input.on('keypress', (text: string | undefined, key: Key) => {
    if (key.name === 'paste-start') pasted = []
    else if (pasted !== undefined && key.ctrl && key.name === 'c') {
      pasted = undefined
      keys.emit('keypress', text, key)
    } else if (key.name === 'paste-end') {
      insert((pasted ?? []).join(''))
      pasted = undefined
    } else if (pasted !== undefined) pasted.push(withoutControls(text ?? ''))
    else receive(text, key)
    painted?.update()
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
    /** Gives the entry that the line completes; undefined while a paste goes on. */
    add(line: string): string | undefined {
      if (lines !== undefined && isPasting) {
        lines.push(line)
        return undefined
      }
      const entry = [...(lines ?? []), line].join('\n')
      lines = undefined
      return entry
    },
  }
}

/** What a terminal would obey must not be shown; code has no use for it. */
const withoutControls = (text: string): string => text.replaceAll(/[^\P{Cc}\t\n\r]/gu, '')

/** The keyboard belongs to the editor (raw mode) or to the code that runs (the terminal's own line mode). */
function createKeyboard(rl: Interface) {
  const { stdin: input } = process
  let isLent = false
  return {
    isLent: () => isLent,
    lend() {
      if (isLent) return
      isLent = true
      rl.pause()
      input.pause()
      setPasteMode(PASTE_OFF)
      input.setRawMode(false)
    },
    takeBack() {
      if (!isLent) return
      isLent = false
      input.setRawMode(true)
      setPasteMode(PASTE_ON)
      input.resume()
      rl.resume()
    },
  }
}
