import { setTimeout as sleep } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { type IPty, spawn } from '@lydell/node-pty'

const WAIT_MS = 120_000

/** A program on a pseudo-terminal, driven like a person does: type, look, go on. */
export interface Typist extends AsyncDisposable {
  pty: IPty
  type(text: string): void
  /** Types text and waits until it is shown, which is not looked at yet: a key that follows is no part of a paste. */
  typeShown(text: string): Promise<void>
  /**
   * Types text and a Tab in one piece: once the text is shown, the Tab is read too and cannot merge with the next key. With
   * `shows`, presses Tab until that is shown: a busy machine may need longer than one Tab waits.
   */
  complete(text: string, shows?: string): Promise<void>
  /** Types a line and waits for the next prompt; gives what appeared between. */
  enter(line: string): Promise<string>
  /** Waits until what appeared since the last look holds the text; gives all of it. */
  see(what: string | RegExp): Promise<string>
  /** Resolves with the exit code. */
  exited: Promise<number>
}

interface TypistOptions {
  /** Tells when the program waits for input. */
  prompt: RegExp
  cwd: string
  /** Undefined leaves a variable of this process out. */
  env?: Record<string, string | undefined>
  cols?: number
  rows?: number
}

/** Starts a program on a pseudo-terminal. */
export function startTypist(
  file: string,
  args: string[],
  { prompt, cwd, env, cols = 200, rows = 50 }: TypistOptions,
): Typist {
  const pty = spawn(file, args, {
    // It becomes TERM.
    name: env?.TERM ?? 'xterm',
    cols,
    rows,
    cwd,
    env: definedOnly({ ...process.env, ...env }),
  })
  const state: { seen: string; code?: number } = { seen: '' }
  pty.onData((data) => {
    state.seen += data
  })
  const exited = new Promise<number>((resolve) => {
    pty.onExit(({ exitCode, signal }) => {
      state.code = signal ? 128 + signal : exitCode
      resolve(state.code)
    })
  })

  const waitFor = async (what: string | RegExp): Promise<void> => {
    const matches = () => {
      const text = stripVTControlCharacters(state.seen)
      return typeof what === 'string' ? text.includes(what) : what.test(text)
    }
    for (const end = Date.now() + WAIT_MS; !matches(); ) {
      if (Date.now() > end || state.code !== undefined) {
        throw new Error(`waited for ${what}, saw: ${JSON.stringify(state.seen)} (exit code ${state.code})`)
      }
      await sleep(15)
    }
  }

  const see = async (what: string | RegExp): Promise<string> => {
    await waitFor(what)
    const text = stripVTControlCharacters(state.seen)
      .replace(/ {100,}\r/g, '\n')
      .replaceAll('\r', '')
    state.seen = ''
    return text
  }

  return {
    pty,
    type: (text) => pty.write(text),
    typeShown(text) {
      pty.write(text)
      return waitFor(text)
    },
    async complete(text, shows) {
      pty.write(`${text}\t`)
      await waitFor(text)
      if (shows === undefined) return
      const again = setInterval(() => pty.write('\t'), 2000)
      try {
        await waitFor(shows)
      } finally {
        clearInterval(again)
      }
    },
    see,
    async enter(line) {
      state.seen = ''
      pty.write(`${line}\r`)
      return see(new RegExp(`\\n[^\\n]*${prompt.source}$`))
    },
    exited,
    async [Symbol.asyncDispose]() {
      if (state.code === undefined) pty.kill('SIGKILL')
      await exited
    },
  }
}

const definedOnly = (env: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
