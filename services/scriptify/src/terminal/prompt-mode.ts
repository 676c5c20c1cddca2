import { EXIT } from '../exit-codes.ts'
import { formatBanner } from './banner.ts'
import { openUntilSignal, PROMPT_SIGNALS, untilSignal } from './end-signals.ts'
import { historyPath, openHistory } from './history.ts'
import { createPrompt } from './prompt.ts'
import { openSession } from './session.ts'
import type { SessionSetup } from './supervised-worker.ts'

interface PromptModeOptions {
  /** The variables that --env and the service added. */
  environment: Record<string, string>
  keepsHistory: boolean
}

/** Runs a session at a prompt until the user leaves; resolves with the exit code. */
export async function runPromptMode(
  setup: SessionSetup,
  { environment, keepsHistory }: PromptModeOptions,
): Promise<number> {
  const { backend, rootdir, env } = setup
  const history = openHistory(keepsHistory ? historyPath(process.env, rootdir, backend.name) : undefined)
  const isProduction = /^prod(uction)?$/i.test(env.APP_ENV ?? '')
  const prompt = createPrompt({ runtime: backend.name, history, environment, isProduction })
  const session = await openUntilSignal((signal) =>
    openSession({ ...setup, isScript: false, notify: prompt.notify, signal }),
  )
  if (typeof session === 'number') return session
  const signalled = untilSignal(PROMPT_SIGNALS, prompt.restore)
  process.on('exit', prompt.restore)
  const facts = { opened: session.opened, environment, history, isProduction }
  process.stdout.write(`${formatBanner(setup, facts)}\n`)
  try {
    return (await Promise.race([prompt.run(session), signalled])) ?? EXIT.ok
  } finally {
    prompt.restore()
    await session.close()
  }
}
