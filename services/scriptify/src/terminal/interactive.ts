import { createInterface, cursorTo, type Interface, type Key } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { styleText } from 'node:util'
import { dotCommandNames, isDotCommand, runDotCommand } from './dot-commands.ts'
import type { History } from './history.ts'
import type { Outcome, Session } from './session.ts'

const PASTE_ON = '\x1b[?2004h'
const PASTE_OFF = '\x1b[?2004l'
const STILL_RUNNING_MS = 700
/** readline hears no key, Ctrl-C neither, before it has its candidates. */
const COMPLETION_MS = 1000
/** Moves to the next line, unless the cursor is at the beginning of one already. */
const freshLine = (columns: number) => `${' '.repeat(columns)}\r\x1b[K`
const LEAVING = /^\s*(exit|quit|die)\s*(\(\s*\))?\s*;?\s*$/

export interface Prompt {
  /** Tells about something that is not an answer, without spoiling the line being typed. */
  notify(text: string): void
  /** Runs until the user leaves. */
  run(session: Session): Promise<void>
  /** Puts the terminal back as it was; safe to call at any time. */
  restore(): void
}

export interface PromptOptions {
  runtime: 'php' | 'node'
  history: History
  environment: Record<string, string>
  isProduction: boolean
}

/** The keyboard's side of a session: line editing, paste, completion, Ctrl-C, and one statement after the other. */
export function createPrompt({ runtime, history, environment, isProduction }: PromptOptions): Prompt {
  const { stdin: input, stdout: output } = process
  const paint = (text: string) => (isProduction ? styleText('red', text, { stream: output }) : text)
  const [first, next] = [paint(`${runtime}> `), paint(`${runtime}* `)]
  const queue: string[] = []
  const waiting: string[] = []
  let pasted: string[] | undefined
  let rl: Interface | undefined
  let isBusy = false
  let isCooked = false
  let isOver = false

  /** Gives the keyboard to the code that runs. */
  const cook = () => {
    if (isCooked) return
    isCooked = true
    rl?.pause()
    output.write(PASTE_OFF)
    input.setRawMode(false)
  }

  const uncook = () => {
    if (!isCooked) return
    isCooked = false
    input.setRawMode(true)
    output.write(PASTE_ON)
    rl?.resume()
  }

  const showPrompt = () => {
    if (isOver) return
    uncook()
    rl?.setPrompt(queue.length === 0 ? first : next)
    rl?.prompt()
  }

  const notify = (text: string) => {
    if (rl === undefined || isBusy || isOver) return void process.stderr.write(`${text}\n`)
    cursorTo(output, 0)
    output.write(`\x1b[J${text}\n`)
    rl.prompt(true)
  }

  const show = (outcome: Outcome) => {
    if (outcome.status === 'shown') output.write(`=> ${outcome.text.replaceAll('\n', '\n   ')}\n`)
    if (outcome.status === 'failed' || outcome.status === 'interrupted') {
      const rest = 'isRestored' in outcome ? '; the session goes on from before it' : ''
      process.stderr.write(`${styleText('red', outcome.text + rest, { stream: process.stderr })}\n`)
    }
  }

  const runPrompt = async (session: Session): Promise<void> => {
    const { promise: left, resolve: leave } = Promise.withResolvers<void>()
    let interrupts = 0

    const evaluate = async (code: string) => {
      interrupts = 0
      cook()
      const outcome = await session.evaluate(code)
      output.write(freshLine(output.columns))
      show(outcome)
    }

    const context = {
      session,
      history,
      environment,
      evaluate,
      print: (text: string) => void output.write(`${text}\n`),
    }

    const remember = (statement: string) => {
      history.add(statement)
      if (rl) Reflect.set(rl, 'history', history.entries.slice(0, 1000))
    }

    /** One line, or one paste: code to go on with, a command, or the wish to leave. */
    const take = async (text: string) => {
      interrupts = 0
      if (queue.length === 0 && LEAVING.test(text)) return leave()
      if (queue.length === 0 && isDotCommand(text)) {
        remember(text)
        if ((await runDotCommand(text, context)) === 'leave') leave()
        return
      }
      queue.push(text)
      const code = queue.join('\n')
      if (code.trim() === '') {
        queue.length = 0
        return
      }
      if (await session.isIncomplete(code)) return
      queue.length = 0
      remember(code)
      await evaluate(code)
    }

    const pump = async () => {
      if (isBusy) return
      isBusy = true
      try {
        for (let text = waiting.shift(); text !== undefined && !isOver; text = waiting.shift())
          await take(text)
      } finally {
        isBusy = false
      }
      showPrompt()
    }

    const complete = async (line: string): Promise<[string[], string]> => {
      if (/^\.[a-z]*$/.test(line) && queue.length === 0) {
        return [dotCommandNames().filter((name) => name.startsWith(line)), line]
      }
      const { word, candidates } = await Promise.race([
        session.complete(line),
        sleep(COMPLETION_MS, { word: '', candidates: [] }, { ref: false }),
      ])
      return [candidates, word]
    }

    rl = createInterface({
      input,
      output,
      terminal: true,
      historySize: 1000,
      history: history.entries.slice(0, 1000),
      removeHistoryDuplicates: true,
      completer: (line: string, answer: (error: Error | null, result: [string[], string]) => void) => {
        complete(line).then(
          (result) => answer(null, result),
          () => answer(null, [[], line]),
        )
      },
    })
    // A terminal that was closed takes neither text nor settings; SIGHUP tells the same.
    for (const end of [rl, input, output]) end.on('error', () => {})
    output.write(PASTE_ON)

    input.on('keypress', (_text: string | undefined, key: Key | undefined) => {
      if (key?.name === 'paste-start') pasted = []
    })
    rl.on('line', (typed) => {
      // readline keeps the lines of a recalled statement apart by carriage returns.
      const line = typed.replaceAll('\r', '\n')
      // Inside a paste every line but the last one ends here; the last one ends with the user's Enter.
      if (pasted !== undefined && isPasting) {
        pasted.push(line)
        rl?.setPrompt(next)
        rl?.prompt()
        return
      }
      waiting.push([...(pasted ?? []), line].join('\n'))
      pasted = undefined
      pump().catch(fail)
    })
    let isPasting = false
    input.on('keypress', (_text: string | undefined, key: Key | undefined) => {
      if (key?.name === 'paste-start') isPasting = true
      if (key?.name === 'paste-end') isPasting = false
    })
    rl.on('SIGINT', () => {
      // A timer of an earlier statement may hold the worker, so that it does not even look at the line.
      if (isBusy) return void onInterrupt()
      const isEmpty = rl?.line === '' && queue.length === 0 && pasted === undefined
      queue.length = 0
      pasted = undefined
      output.write(isEmpty ? '\n(Ctrl-D or exit leaves)\n' : '^C\n')
      if (rl) clearLine(rl)
      showPrompt()
    })
    rl.on('close', () => leave())

    const onInterrupt = async () => {
      if (!isBusy) return
      interrupts += 1
      if (interrupts > 1) return session.kill()
      session.interrupt()
      await sleep(STILL_RUNNING_MS, undefined, { ref: false })
      if (isBusy && interrupts === 1)
        process.stderr.write('(still running; Ctrl-C again stops it by force)\n')
    }
    process.on('SIGINT', onInterrupt)
    let fail: (error: unknown) => void = () => {}
    const failed = new Promise<never>((_resolve, reject) => {
      fail = reject
    })

    showPrompt()
    try {
      await Promise.race([left, failed])
    } finally {
      process.off('SIGINT', onInterrupt)
      restore()
    }
  }

  const restore = () => {
    if (isOver) return
    isOver = true
    output.write(PASTE_OFF)
    rl?.close()
    if (input.isTTY) input.setRawMode(false)
    input.pause()
  }

  return { notify, run: runPrompt, restore }
}

/** readline offers no method for it but its own key. */
function clearLine(rl: Interface): void {
  rl.write(null, { ctrl: true, name: 'e' })
  rl.write(null, { ctrl: true, name: 'u' })
}
