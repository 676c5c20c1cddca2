import type { History } from './history.ts'
import type { TerminalSession } from './terminal-session.ts'

export interface DotCommandContext {
  session: TerminalSession
  history: History
  /** The variables that --env and the service added. */
  environment: Record<string, string>
  print(text: string): void
  leave(): void
}

interface DotCommand {
  usage: string
  effect: string
  run(context: DotCommandContext, argument: string): Promise<void> | void
}

const SECRET_NAME = /pass|secret|token|key|credential|_url$/i

const COMMANDS: Record<string, DotCommand> = {
  help: {
    usage: '.help',
    effect: 'show this list',
    run: ({ print }) => {
      print(helpText())
    },
  },
  exit: { usage: '.exit', effect: 'leave, like exit, quit and Ctrl-D', run: ({ leave }) => leave() },
  clear: {
    usage: '.clear',
    effect: 'clear all variables and start a new process',
    run: (context) => restart(context, false),
  },
  reload: {
    usage: '.reload',
    effect: 'load changed code; keep imports, declarations and plain variables',
    run: (context) => restart(context, true),
  },
  history: {
    usage: '.history [text]',
    effect: 'list what was typed, or the entries that contain the text',
    run: ({ history, print }, text) => {
      print(
        history.entries
          .slice(0, 200)
          .filter((entry) => entry.includes(text))
          .reverse()
          .join('\n'),
      )
    },
  },
  ls: {
    usage: '.ls',
    effect: 'list variables, functions and classes',
    run: async ({ session, print }) => {
      print(await session.list())
    },
  },
  env: {
    usage: '.env',
    effect: 'list the environment variables of --env and the service, secrets hidden',
    run: ({ environment, print }) => {
      const shown = Object.entries(environment).map(
        ([name, value]) => `${name}=${SECRET_NAME.test(name) ? '********' : value}`,
      )
      print(shown.join('\n') || 'No environment variables were added')
    },
  },
}

/** True where the line is a dot command; `.5 + 1` and `...` are code. */
export const isDotCommand = (line: string): boolean => /^\s*\.[a-z]+(\s|$)/.test(line)

/** Runs a line such as `.help`. */
export async function runDotCommand(line: string, context: DotCommandContext): Promise<void> {
  const [, name = '', argument = ''] = /^\s*\.([a-z]+)\s*([\s\S]*)$/.exec(line) ?? []
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command === undefined) return context.print(`.${name} is not a command; .help lists them`)
  await command.run(context, argument.trim())
}

/** The commands' names with their dots, for completion. */
export const dotCommandNames = (): string[] => Object.keys(COMMANDS).map((name) => `.${name}`)

function helpText(): string {
  const width = Math.max(...Object.values(COMMANDS).map(({ usage }) => usage.length))
  return [
    ...Object.values(COMMANDS).map(({ usage, effect }) => `${usage.padEnd(width)}  ${effect}`),
    '',
    'Tab completes. Up finds earlier input that begins like the line, Ctrl-R input that contains a text.',
    'Ctrl-C clears the line or interrupts the statement; a second one kills it. A statement continues on',
    'the next line until it is complete. `;;` at its end hides its value. A line that begins with a space',
    'is not kept in the history.',
  ].join('\n')
}

async function restart({ session, print }: DotCommandContext, keepsVariables: boolean): Promise<void> {
  for (const note of await session.restart({ keepsVariables })) print(note)
  print(keepsVariables ? 'Reloaded' : 'All variables were cleared')
}
