import { stripVTControlCharacters } from 'node:util'
import { spawn } from '@lydell/node-pty'
import { vi } from 'vitest'

/** How long a command of a page may take: `npm ci` on a busy machine. */
const TIMEOUT_MS = 300_000
/** What a program shows at the end of its output when it waits for a line, or runs until Ctrl-C. */
const WAITING = /(?:(?:node|php)> |Password: |http:\/\/localhost:\d+\s+|(?:[\w+/=]{40,}\s+)|it is [\d:]+\s+)$/

/** At the end of what a terminal shows when its shell waits for a command. */
export const SHELL_PROMPT = /shell\$ $/

export interface PasteTerminal extends AsyncDisposable {
  /** Pastes commands, answers what they ask, and waits for their end; throws with what a failed command showed. */
  run(commands: string, input?: readonly string[]): Promise<string>
  /** Enters one command, answers what it asks, and types nothing else until it has ended; throws as `run`. */
  enter(command: string, input?: readonly string[]): Promise<string>
  /** Pastes text into the program that runs, and waits until it shows the pattern. */
  paste(text: string, until: RegExp): Promise<string>
  /** Ends the program that runs, and waits for the shell. */
  interrupt(): Promise<void>
}

/**
 * Bash on a pseudo-terminal, into which text is pasted as terminals without bracketed paste do it: a program that reads
 * its input takes the lines that were meant for the shell.
 */
export async function openPasteTerminal(
  cwd: string,
  env: Record<string, string>,
  /** What starts the shell, such as `docker exec`. */
  launcher: readonly string[] = [],
): Promise<PasteTerminal> {
  const [file = '', ...args] = [...launcher, 'bash', '--noprofile', '--norc', '-i']
  const pty = spawn(file, args, {
    name: 'xterm',
    cols: 500,
    rows: 50,
    cwd,
    // A line is shown once, and nothing waits in a pager.
    env: { NO_COLOR: '1', PAGER: 'cat', ...env },
  })
  let output = ''
  let ends = 0
  let hasExited = false
  pty.onData((data) => {
    output += data
  })
  const exited = new Promise<void>((resolve) => pty.onExit(() => resolve()))
  void exited.then(() => {
    hasExited = true
  })
  const shown = () => stripVTControlCharacters(output).replaceAll('\r', '')

  async function see(pattern: RegExp): Promise<string> {
    const look = () => {
      if (!pattern.test(shown()) && !hasExited) throw new Error(`waited for ${pattern}, saw:\n${shown()}`)
    }
    await vi.waitFor(look, { timeout: TIMEOUT_MS, interval: 50 })
    return shown()
  }

  function type(text: string): void {
    pty.write(text.replaceAll('\n', '\r'))
  }

  async function end(): Promise<string> {
    ends++
    // The line that is typed does not contain what it prints.
    type(`echo "end"-${ends}\n`)
    return refuseFailure(await see(new RegExp(`^(?:.*[$#] )?end-${ends}$`, 'm')))
  }

  async function answer(input: readonly string[]): Promise<void> {
    for (const line of input) {
      refuseFailure(await see(WAITING))
      output = ''
      if (line === '^C') pty.write('\x03')
      else type(`${line}\n`)
    }
  }

  async function run(commands: string, input: readonly string[] = []): Promise<string> {
    output = ''
    type(commands)
    await answer(input)
    // A program that reads may take what is typed until it has ended.
    if (input.length > 0) await see(SHELL_PROMPT)
    return end()
  }

  async function enter(command: string, input: readonly string[] = []): Promise<string> {
    output = ''
    type(`${command}\n`)
    await answer(input)
    await see(SHELL_PROMPT)
    return end()
  }

  await run(
    `bind 'set enable-bracketed-paste off'; PS1='shell$ '; trap 'printf "\\nfailed %s\\n" "$? $BASH_COMMAND"' ERR\n`,
  )
  return {
    run,
    enter,
    async paste(text, until) {
      output = ''
      type(text)
      return see(until)
    },
    async interrupt() {
      output = ''
      pty.write('\x03')
      await see(SHELL_PROMPT)
      await end()
    },
    async [Symbol.asyncDispose]() {
      pty.kill('SIGHUP')
      await exited
    },
  }
}

/** What a terminal has shown, if no command failed in it; 130 is that of Ctrl-C. */
function refuseFailure(text: string): string {
  const [, failure] = /^failed (?!130)(\d+ .*)$/m.exec(text) ?? []
  if (failure) throw new Error(`A command failed: ${failure}\n${text}`)
  return text
}
