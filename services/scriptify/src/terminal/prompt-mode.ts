import { EXIT } from '../exit-codes.ts'
import { formatBanner } from './banner.ts'
import { openUntilSignal, PROMPT_SIGNALS, untilSignal } from './end-signals.ts'
import { historyPath, openHistory } from './history.ts'
import type { Prompt } from './prompt.ts'
import type { Session } from './session.ts'
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
  let prompt: Prompt | undefined
  const notify = (text: string) => (prompt ? prompt.notify(text) : void process.stderr.write(`${text}\n`))
  const open = async (signal: AbortSignal) => {
    const { openSession } = await import('./session.ts')
    return openSession({ ...setup, isScript: false, notify, signal })
  }
  const [early, { createPrompt }] = await Promise.all([
    isSilent(setup) ? undefined : openUntilSignal(open),
    import('./prompt.ts'),
  ])
  if (typeof early === 'number') return early
  const history = openHistory(
    keepsHistory ? await historyPath(process.env, rootdir, backend.name) : undefined,
  )
  const isProduction = /^prod(uction)?$/i.test(env.APP_ENV ?? '')
  prompt = createPrompt({ runtime: backend.name, history, environment, isProduction })
  const { restore } = prompt
  const signalled = untilSignal(PROMPT_SIGNALS, restore)
  process.on('exit', restore)
  const opened = await early?.opened
  process.stdout.write(`${formatBanner(setup, { opened, environment, history, isProduction })}\n`)
  const { promise: session, resolve: setSession } = Promise.withResolvers<Session>()
  const left = prompt.run(session)
  // What the first prompt does not need is loaded behind it.
  setSession(early ?? open(new AbortController().signal))
  const failed = untilFailed(session)
  try {
    return (await Promise.race([left, signalled, failed.promise])) ?? EXIT.ok
  } finally {
    failed.stopWaiting()
    restore()
    await (await session).close()
  }
}

/** Whether the worker's start can print nothing, so that the prompt need not wait: it runs none of the project's code. */
const isSilent = ({ backend, preload, sandbox }: SessionSetup): boolean =>
  backend.startsSilently && backend.autoloader === undefined && preload === undefined && !sandbox

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
