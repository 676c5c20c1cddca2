import { createInterface, cursorTo, type Interface, type Key } from 'node:readline'

const PASTE_ON = '\x1b[?2004h'
const PASTE_OFF = '\x1b[?2004l'
const HISTORY_SIZE = 1000

export interface LineEditorOptions {
  /** Newest first. */
  history: readonly string[]
  /** The prompt of every line but the first. */
  continuation: string
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
  /** Discards what was typed or pasted. */
  discard(): void
  setHistory(entries: readonly string[]): void
  close(): void
}

/** Line editing, bracketed paste, recall and completion on the process's terminal. */
export function createLineEditor(options: LineEditorOptions): LineEditor {
  const { stdin: input, stdout: output } = process
  const rl = openReadline(options)
  const paste = trackPaste(input)
  const keyboard = createKeyboard(rl)
  const prompt = (text: string) => {
    rl.setPrompt(text)
    rl.prompt()
  }
  output.write(PASTE_ON)
  rl.on('line', (typed) => {
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
      cursorTo(output, 0)
      output.write(`\x1b[J${text}\n`)
      rl.prompt(true)
    },
    lendKeyboard: keyboard.lend,
    isEmpty: () => rl.line === '' && !paste.isStarted(),
    discard() {
      paste.drop()
      clearLine(rl)
    },
    // readline has no method for it.
    setHistory: (entries) => void Reflect.set(rl, 'history', entries.slice(0, HISTORY_SIZE)),
    close: () => rl.close(),
  }
}

/** Resets the terminal's modes; safe without an editor and more than once. */
export function restoreTerminal(): void {
  process.stdout.write(PASTE_OFF)
  if (process.stdin.isTTY) process.stdin.setRawMode(false)
  process.stdin.pause()
}

function openReadline({ history, complete, onInterrupt, onClose }: LineEditorOptions): Interface {
  const { stdin: input, stdout: output } = process
  const rl = createInterface({
    input,
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
  return rl
}

/** Joins the lines of a bracketed paste into one entry. Its last line ends with the user's Enter, like a typed one. */
function trackPaste(input: NodeJS.ReadStream) {
  let lines: string[] | undefined
  let isPasting = false
  input.on('keypress', (_text: string | undefined, key: Key | undefined) => {
    if (key?.name === 'paste-start') {
      lines = []
      isPasting = true
    }
    if (key?.name === 'paste-end') isPasting = false
  })
  return {
    isStarted: () => lines !== undefined,
    drop: () => {
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

/** The keyboard belongs to the editor (raw mode) or to the code that runs (the terminal's own line mode). */
function createKeyboard(rl: Interface) {
  const { stdin: input, stdout: output } = process
  let isLent = false
  return {
    lend() {
      if (isLent) return
      isLent = true
      rl.pause()
      output.write(PASTE_OFF)
      input.setRawMode(false)
    },
    takeBack() {
      if (!isLent) return
      isLent = false
      input.setRawMode(true)
      output.write(PASTE_ON)
      rl.resume()
    },
  }
}

/** readline has no method for it but its own keys. */
function clearLine(rl: Interface): void {
  rl.write(null, { ctrl: true, name: 'e' })
  rl.write(null, { ctrl: true, name: 'u' })
}
