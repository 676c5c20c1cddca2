import { clearScreenDown, createInterface, cursorTo, type Interface, moveCursor } from 'node:readline'
import type { History } from './history.ts'
import { createHistorySearch } from './history-search.ts'
import { createKeys, type Paste, readKeys, setPasteMode } from './keys.ts'

const HISTORY_SIZE = 1000

export interface LineEditorOptions {
  /** The entries that Up and Ctrl-R find: whole statements, and never a secret. */
  history: Pick<History, 'entries'>
  /** A terminal that moves no cursor, such as the shell of Emacs: nothing but text and line ends may be written. */
  isDumb: boolean
  /** The prompt of every line but the first. */
  continuation: string
  /** Receives one line, or all lines of a paste. */
  onEntry(text: string): void
  /** Ctrl-C as a key; a dumb terminal sends the signal. */
  onInterrupt(): void
  /** Ctrl-D, or the end of the terminal. */
  onClose(): void
  complete(line: string): Promise<{ word: string; candidates: string[] }>
}

export interface LineEditor {
  /** Shows a prompt, and takes the keyboard back if it was released. */
  prompt(text: string): void
  /** Prints text above the line that is being typed. */
  printAbove(text: string): void
  /** Passes the keyboard to the code that runs, until the next prompt. */
  releaseKeyboard(): void
  /** True while Ctrl-C is a signal, and not a key. */
  sendsSignals(): boolean
  isEmpty(): boolean
  /** Discards what was typed or pasted, and moves below it; `suffix` is shown at its end. */
  discard(suffix: string): void
  close(): void
}

/** Line editing, history and completion by readline on the process's terminal; a dumb one edits its lines itself. */
export function createLineEditor(options: LineEditorOptions): LineEditor {
  return options.isDumb ? createDumbEditor(options) : createKeyEditor(options)
}

function createDumbEditor({ onEntry, onClose }: LineEditorOptions): LineEditor {
  const { stdin: input, stdout: output } = process
  const rl = createInterface({ input, output, terminal: false })
  rl.on('line', onEntry)
  rl.on('close', onClose)
  return {
    prompt(text) {
      rl.setPrompt(text)
      rl.prompt()
    },
    printAbove(text) {
      output.write(`\n${text}\n`)
      rl.prompt()
    },
    releaseKeyboard: () => void rl.pause(),
    sendsSignals: () => true,
    isEmpty: () => true,
    // The terminal has shown ^C.
    discard: () => void output.write('\n'),
    close: () => rl.close(),
  }
}

function createKeyEditor(options: LineEditorOptions): LineEditor {
  const { stdin: input, stdout: output } = process
  const keys = createKeys()
  const { rl, recall, refill } = openReadline(keys, options)
  const search = createHistorySearch({ rl, entries: options.history.entries, recall })
  const paste = readKeys(keys, rl, search)
  const line = createHideableLine(rl)
  let isReleased = false
  let isDiscarding = false
  const prompt = (text: string) => {
    refill()
    rl.setPrompt(text)
    // The cursor stays behind what was typed while no prompt was shown.
    line.show()
  }
  rl.on('line', (typed) => {
    if (isDiscarding) return
    // Text that is typed before the next prompt is shown without a prompt.
    rl.setPrompt('')
    readEntry(typed, paste, { ...options, onPart: () => prompt(options.continuation) })
  })
  setPasteMode(true)
  return {
    prompt(text) {
      if (isReleased) {
        isReleased = false
        input.setRawMode(true)
        setPasteMode(true)
        input.resume()
        rl.resume()
      }
      prompt(text)
    },
    printAbove(text) {
      line.hide()
      output.write(`${text}\n`)
      line.show()
    },
    releaseKeyboard() {
      if (isReleased) return
      isReleased = true
      if (rl.line !== '') line.hide()
      rl.pause()
      input.pause()
      setPasteMode(false)
      input.setRawMode(false)
    },
    sendsSignals: () => isReleased,
    isEmpty: () => rl.line === '' && !paste.isStarted(),
    discard(suffix) {
      paste.drop()
      rl.write(null, { ctrl: true, name: 'e' })
      output.write(suffix)
      // Only Enter empties the line and leaves it on the screen.
      isDiscarding = true
      rl.write(null, { name: 'return' })
      isDiscarding = false
    },
    close() {
      setPasteMode(false)
      rl.close()
      input.setRawMode(false)
      input.pause()
    },
  }
}

/** Opens readline; `recall` puts an entry into its empty line, and `refill` gives it the history as it is now. */
function openReadline(keys: ReturnType<typeof createKeys>, options: LineEditorOptions) {
  const { history, complete, onInterrupt, onClose } = options
  let recalled = history.entries.slice(0, HISTORY_SIZE)
  const rl = createInterface({
    input: keys,
    output: process.stdout,
    terminal: true,
    historySize: HISTORY_SIZE,
    history: recalled,
    completer: (line: string, answer: (error: Error | null, result: [string[], string]) => void) => {
      complete(line).then(
        // A busy worker answers late: what is typed by then may be another line.
        ({ word, candidates }) =>
          answer(null, [line === rl.line.slice(0, rl.cursor) ? candidates : [], word]),
        () => answer(null, [[], line]),
      )
    },
  })
  const refill = () => {
    recalled.splice(0, recalled.length, ...history.entries.slice(0, HISTORY_SIZE))
  }
  // readline adds each line; the history has whole statements.
  rl.on('history', (entries) => {
    recalled = entries
    refill()
  })
  // A terminal that was closed accepts neither text nor settings; SIGHUP reports the same.
  for (const stream of [rl, process.stdin, process.stdout]) stream.on('error', () => {})
  rl.on('SIGINT', onInterrupt)
  rl.on('close', onClose)
  // The shell has switched it off while this process was stopped by Ctrl-Z.
  rl.on('SIGCONT', () => setPasteMode(true))
  const recall = (entry: string) => {
    // write() would submit the first of several lines: only the history has entries of more than one.
    recalled.splice(0, recalled.length, ...recalled.map(() => entry))
    rl.write(null, { ctrl: true, name: 'p' })
    refill()
  }
  return { rl, recall, refill }
}

/** Hands an entry on; the lines of a paste are one, which ends with the user's Enter like a typed one. */
function readEntry(
  typed: string,
  paste: Paste,
  { onEntry, onPart }: Pick<LineEditorOptions, 'onEntry'> & { onPart(): void },
): void {
  // readline separates the lines of a recalled statement by carriage returns.
  const entry = paste.add(typed.replaceAll('\r', '\n'))
  if (entry === undefined) onPart()
  else onEntry(entry)
}

/** The typed line, which can be removed from the screen for a while; readline keeps it. */
function createHideableLine(rl: Interface) {
  const { stdout: output } = process
  let hiddenRows = 0
  return {
    hide() {
      hiddenRows = rl.getCursorPos().rows
      moveCursor(output, 0, -hiddenRows)
      cursorTo(output, 0)
      clearScreenDown(output)
    },
    show() {
      // readline draws it from as many rows above the cursor as it has had.
      output.write('\n'.repeat(hiddenRows))
      hiddenRows = 0
      rl.prompt(true)
    },
  }
}
