import { styleText } from 'node:util'
import type { RuntimeName } from '../../classes/choose-runtime.ts'
import { dotCommandNames } from './dot-commands.ts'
import type { History } from './history.ts'
import { createInterrupter, type Interrupter } from './interrupter.ts'
import { createLineEditor } from './line-editor.ts'
import { createStatementReader } from './statement-reader.ts'
import type { TerminalSession } from './terminal-session.ts'

export interface Prompt {
  /** Resolves when the user leaves; rejects when an entry fails. */
  left: Promise<void>
  /** Prints a message without damaging the line that is being typed. */
  notify(text: string): void
  /** Resets the terminal; safe at any time. */
  restore(): void
}

export interface PromptOptions {
  runtime: RuntimeName
  history: History
  /** The variables that --env and the service added. */
  environment: Record<string, string>
  isProduction: boolean
  /** True where the terminal moves no cursor. */
  isDumb: boolean
}

/** Shows a prompt, reads entries and evaluates them one after another. */
export function createPrompt(session: TerminalSession, options: PromptOptions): Prompt {
  const { promise: left, resolve: leave, reject: fail } = Promise.withResolvers<void>()
  const [first, continuation] = promptTexts(options)
  const waiting: string[] = []
  /** The handler of Ctrl-C; undefined while no entry is handled. */
  let running: Interrupter | undefined
  let isOver = false
  const reader = createStatementReader({
    ...options,
    session,
    stdout: process.stdout,
    stderr: process.stderr,
    leave,
    onEvaluate: () => editor.releaseKeyboard(),
  })
  const notify = (text: string) => {
    if (running !== undefined || isOver) process.stderr.write(`${text}\n`)
    else editor.printAbove(text)
  }
  const showPrompt = () => editor.prompt(reader.isStarted() ? continuation : first)
  const add = async (added: string) => {
    waiting.push(added)
    if (running !== undefined) return
    for (let entry = waiting.shift(); entry !== undefined && !isOver; entry = waiting.shift()) {
      running = createInterrupter(session, notify)
      await reader.read(entry, running.signal)
      running.end()
    }
    running = undefined
    if (!isOver) showPrompt()
  }
  /**
   * Ctrl-C: a key while a line is edited, a signal while code has the keyboard. At the prompt it discards what was typed, or
   * says how to leave. While an entry is handled, it is the `Interrupter`'s; what it does to the worker is in `superviseWorker`.
   */
  const onInterrupt = () => {
    if (running !== undefined) return running.interrupt()
    const wasEmpty = editor.isEmpty() && !reader.isStarted()
    reader.discard()
    editor.discard(wasEmpty ? '' : '^C')
    if (wasEmpty) process.stdout.write('To exit, press Ctrl-D or type exit\n')
    showPrompt()
  }
  const editor = createLineEditor({
    history: options.history,
    isDumb: options.isDumb,
    continuation,
    onEntry: (entry) => void add(entry).catch(fail),
    onInterrupt,
    onClose() {
      // Ctrl-D leaves the cursor behind the prompt.
      if (running === undefined) process.stdout.write('\n')
      leave()
    },
    complete: (line) => complete(session, line, { isStarted: reader.isStarted() }),
  })
  // Node reports a signal late, perhaps when the code for which it was has ended and the prompt is shown.
  const onSignal = () => {
    if (editor.sendsSignals()) onInterrupt()
  }
  process.on('SIGINT', onSignal)
  showPrompt()
  return {
    left,
    notify,
    restore() {
      if (isOver) return
      isOver = true
      process.off('SIGINT', onSignal)
      editor.close()
    },
  }
}

function promptTexts({ runtime, isProduction }: PromptOptions): [first: string, continuation: string] {
  const paint = (text: string) => (isProduction ? styleText('red', text, { stream: process.stdout }) : text)
  return [paint(`${runtime}> `), paint(`${runtime}* `)]
}

async function complete(
  session: TerminalSession,
  line: string,
  { isStarted }: { isStarted: boolean },
): Promise<{ word: string; candidates: string[] }> {
  if (isStarted || !/^\.[a-z]*$/.test(line)) return session.complete(line)
  return { word: line, candidates: dotCommandNames().filter((name) => name.startsWith(line)) }
}
