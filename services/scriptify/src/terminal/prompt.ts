import { setTimeout as sleep } from 'node:timers/promises'
import type { RuntimeName } from '../classes/choose-runtime.ts'
import type { History } from './history.ts'
import { createInterrupter } from './interrupter.ts'
import { createLineEditor, restoreTerminal } from './line-editor.ts'
import { createLinePainter } from './line-painter.ts'
import { createSerialQueue } from './serial-queue.ts'
import type { Session } from './session.ts'
import { createStatementReader } from './statement-reader.ts'
import { styleText } from './style-text.ts'

/** readline ignores every key, Ctrl-C too, until it has the candidates. */
const COMPLETION_MS = 1000

export interface Prompt {
  /** Prints a message without damaging the line that is being typed. */
  notify(text: string): void
  /** Shows the prompt at once, and runs until the user leaves. */
  run(session: Promise<Session>): Promise<void>
  /** Resets the terminal; safe at any time. */
  restore(): void
}

export interface PromptOptions {
  runtime: RuntimeName
  history: History
  /** The variables that --env and the service added. */
  environment: Record<string, string>
  isProduction: boolean
}

/** The prompt of a session, and what the terminal needs before and after it. */
export function createPrompt(options: PromptOptions): Prompt {
  let loop: PromptLoop | undefined
  let isOver = false
  const restore = () => {
    if (isOver) return
    isOver = true
    loop?.close()
    restoreTerminal()
  }
  return {
    restore,
    notify(text) {
      if (loop === undefined || loop.isBusy() || isOver) process.stderr.write(`${text}\n`)
      else loop.printAbove(text)
    },
    async run(session) {
      loop = startLoop(session, options)
      try {
        await loop.left
      } finally {
        restore()
      }
    },
  }
}

interface PromptLoop {
  /** Resolves when the user leaves; rejects when an entry fails. */
  left: Promise<void>
  isBusy(): boolean
  printAbove(text: string): void
  close(): void
}

/** Reads entries and evaluates them one after another. */
function startLoop(session: Promise<Session>, options: PromptOptions): PromptLoop {
  const { promise: left, resolve: leave, reject: fail } = Promise.withResolvers<void>()
  const [first, continuation] = promptTexts(options)
  const showPrompt = () => editor.prompt(reader.isStarted() ? continuation : first)
  const entries = createSerialQueue((entry: string) => {
    interrupter.reset()
    return reader.read(entry)
  }, showPrompt)
  let runsProgram = false
  // Ctrl-C in the pager or the editor is theirs.
  const interrupter = createInterrupter(session, () => entries.isBusy() && !runsProgram)
  const editor = createLineEditor({
    history: options.history.entries,
    continuation,
    onEntry: (entry) => void entries.add(entry).catch(fail),
    paint: createLinePainter({
      runtime: options.runtime,
      before: () => reader.pending(),
      onLoaded: () => editor.repaint(),
    }),
    onInterrupt() {
      // A busy worker, such as one that runs a timer of an earlier statement, does not look at the line.
      if (entries.isBusy()) return void interrupter.interrupt()
      const wasEmpty = editor.isEmpty() && !reader.isStarted()
      reader.discard()
      editor.discard(wasEmpty ? '' : '^C')
      if (wasEmpty) process.stdout.write('(Ctrl-D or exit leaves)\n')
      showPrompt()
    },
    onClose() {
      // Ctrl-D leaves the cursor behind the prompt.
      if (!entries.isBusy()) process.stdout.write('\n')
      leave()
    },
    complete: (line) => complete(session, line, { isStarted: reader.isStarted() }),
  })
  const reader = createStatementReader({
    ...options,
    session,
    leave,
    isCancelled: () => interrupter.isCancelled(),
    onEvaluate: () => {
      interrupter.reset()
      editor.lendKeyboard()
    },
    async runProgram(run) {
      editor.lendKeyboard()
      runsProgram = true
      try {
        return await run()
      } finally {
        runsProgram = false
      }
    },
    onRemember: () => editor.setHistory(options.history.entries),
  })
  process.on('SIGINT', interrupter.interrupt)
  showPrompt()
  return {
    left,
    isBusy: entries.isBusy,
    printAbove: editor.printAbove,
    close() {
      process.off('SIGINT', interrupter.interrupt)
      entries.close()
      editor.close()
    },
  }
}

function promptTexts({ runtime, isProduction }: PromptOptions): [first: string, continuation: string] {
  const paint = (text: string) => (isProduction ? styleText('red', text, { stream: process.stdout }) : text)
  return [paint(`${runtime}> `), paint(`${runtime}* `)]
}

async function complete(
  session: Promise<Session>,
  line: string,
  { isStarted }: { isStarted: boolean },
): Promise<{ word: string; candidates: string[] }> {
  if (!isStarted && /^\.[a-z]*$/.test(line)) {
    const { dotCommandNames } = await import('./dot-commands.ts')
    return { word: line, candidates: dotCommandNames().filter((name) => name.startsWith(line)) }
  }
  return Promise.race([
    session.then((opened) => opened.complete(line)),
    sleep(COMPLETION_MS, { word: '', candidates: [] }, { ref: false }),
  ])
}
