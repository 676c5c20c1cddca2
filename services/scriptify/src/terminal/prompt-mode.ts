import { EXIT } from '../cli/exit-codes.ts'
import { formatBanner } from './banner.ts'
import { PROMPT_SIGNALS, untilSignal } from './end-signals.ts'
import { historyPath, openHistory } from './history.ts'
import { createPrompt } from './prompt.ts'
import type { Session } from './session.ts'
import type { SessionSetup } from './worker/supervised-worker.ts'

/** Where a session's messages go. */
export interface Notices {
  notify(text: string): void
}

/** A session whose worker has been started: the exit code, if a signal came first. */
export interface Opening {
  session: Promise<Session | number>
}

export interface PromptModeOptions {
  /** The variables that --env and the service added. */
  environment: Record<string, string>
  keepsHistory: boolean
  /** Absent for a session that opens behind the prompt. */
  opening: Opening | undefined
  /** Gets the prompt's own way to print. */
  notices: Notices
}

/** Runs a session at a prompt until the user leaves; resolves with the exit code. */
export async function runPromptMode(
  setup: SessionSetup,
  { environment, keepsHistory, opening, notices }: PromptModeOptions,
): Promise<number> {
  const { backend, rootdir, env } = setup
  const history = openHistory(
    keepsHistory ? await historyPath(process.env, rootdir, backend.name) : undefined,
  )
  const isProduction = /^prod(uction)?$/i.test(env.APP_ENV ?? '')
  const prompt = createPrompt({ runtime: backend.name, history, environment, isProduction })
  const { restore, notify } = prompt
  const early = await opening?.session
  if (typeof early === 'number') return early
  notices.notify = notify
  const signalled = untilSignal(PROMPT_SIGNALS, restore)
  process.on('exit', restore)
  const opened = await early?.opened
  process.stdout.write(`${formatBanner(setup, { opened, environment, history, isProduction })}\n`)
  const { promise: session, resolve: setSession } = Promise.withResolvers<Session>()
  const left = prompt.run(session)
  // What the first prompt does not need is loaded behind it.
  setSession(early ?? openBehind(setup, notify))
  const failed = untilFailed(session)
  try {
    return (await Promise.race([left, signalled, failed.promise])) ?? EXIT.ok
  } finally {
    failed.stopWaiting()
    restore()
    await (await session).close()
  }
}

async function openBehind(setup: SessionSetup, notify: Notices['notify']): Promise<Session> {
  const { openSession } = await import('./session.ts')
  return openSession({ ...setup, isScript: false, notify, signal: new AbortController().signal })
}

/** Rejects if the worker fails to start; the error follows the prompt, on a line of its own. */
function untilFailed(session: Promise<Session>) {
  const { promise, reject } = Promise.withResolvers<never>()
  let isWaiting = true
  session
    .then(({ opened }) => opened)
    .catch((error) => {
      // A worker that is ended while it starts has not failed.
      if (!isWaiting) return
      process.stdout.write('\n')
      reject(error)
    })
  return {
    promise,
    stopWaiting() {
      isWaiting = false
    },
  }
}
