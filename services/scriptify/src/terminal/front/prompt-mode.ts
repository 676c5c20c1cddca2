import { EXIT } from '../../io/cli-error.ts'
import type { SessionSetup } from '../worker/supervisor.ts'
import { formatBanner } from './banner.ts'
import { openUntilSignal, PROMPT_SIGNALS, untilSignal } from './end-signals.ts'
import { historyPath, openHistory } from './history.ts'
import { createPrompt } from './prompt.ts'
import { openTerminalSession } from './terminal-session.ts'

export interface PromptModeOptions {
  /** The environment of the terminal itself, which may differ from that of the session. */
  ownEnv: NodeJS.ProcessEnv
  /** The variables that --env and the service added. */
  environment: Record<string, string>
  keepsHistory: boolean
}

/** Runs a session at a prompt until the user leaves; resolves with the exit code. */
export async function runPromptMode(
  setup: SessionSetup,
  { ownEnv, environment, keepsHistory }: PromptModeOptions,
): Promise<number> {
  const { backend, rootdir, env } = setup
  let notify = (text: string): void => void process.stderr.write(`${text}\n`)
  const session = await openUntilSignal((signal) =>
    openTerminalSession({ ...setup, notify: (text) => notify(text), signal }),
  )
  if (typeof session === 'number') return session
  const history = openHistory(keepsHistory ? historyPath(ownEnv, rootdir, backend.name) : undefined)
  const isProduction = /^prod(uction)?$/i.test(env.APP_ENV ?? '')
  const facts = { environment, history, isProduction }
  process.stdout.write(`${formatBanner(setup, { ...facts, opened: session.opened })}\n`)
  const isDumb = ownEnv.TERM === 'dumb'
  const prompt = createPrompt(session, { ...facts, runtime: backend.name, isDumb })
  notify = prompt.notify
  const signalled = untilSignal(PROMPT_SIGNALS, prompt.restore)
  process.on('exit', prompt.restore)
  try {
    return (await Promise.race([prompt.left, signalled])) ?? EXIT.ok
  } finally {
    prompt.restore()
    await session.close()
  }
}
