import type { Answer } from '../worker/protocol.ts'
import { createSessionMemory, type SessionMemory } from '../worker/session-memory.ts'
import {
  notesOf,
  type Opened,
  type SupervisedWorker,
  superviseWorker,
  type TerminalSessionOptions,
} from '../worker/supervisor.ts'

export type StatementOutcome =
  | { status: 'shown'; text: string }
  | { status: 'silent' }
  | { status: 'interrupted'; text: string }
  | { status: 'failed'; text: string; isRestored?: true }

/** The session of a terminal, which outlives the process that evaluates. */
export interface TerminalSession {
  /** The report of the worker when it was ready. */
  opened: Opened
  /** True where the text needs more lines. */
  isIncomplete(code: string): Promise<boolean>
  evaluate(code: string): Promise<StatementOutcome>
  complete(line: string): Promise<{ word: string; candidates: string[] }>
  /** Lists variables, functions and classes. */
  list(): Promise<string>
  /** Asks the worker to stop what it runs: the first Ctrl-C. */
  interrupt(): void
  /** Kills the worker: the second Ctrl-C. The running statement is lost, the session is not. */
  kill(): void
  /** Starts a new worker, with the imports, declarations and plain variables of the old one or without; gives what to say. */
  restart(options: { keepsVariables: boolean }): Promise<string[]>
  close(): Promise<void>
}

/** Opens a terminal session; resolves when its worker is ready. Rejects with a CliError (1) if its process dies before that. */
export async function openTerminalSession(options: TerminalSessionOptions): Promise<TerminalSession> {
  const memory = createSessionMemory()
  const worker = superviseWorker(options, memory)
  return {
    opened: await worker.start(),
    isIncomplete: async (code) => (await worker.ask({ type: 'check', code })).incomplete,
    evaluate: (code) => evaluate(worker, memory, code),
    complete: (line) => worker.ask({ type: 'complete', line }),
    list: async () => (await worker.ask({ type: 'list' })).text,
    interrupt: worker.interrupt,
    kill: worker.kill,
    restart: ({ keepsVariables }) => restart(worker, memory, keepsVariables),
    close: worker.close,
  }
}

async function evaluate(
  worker: SupervisedWorker,
  memory: SessionMemory,
  code: string,
): Promise<StatementOutcome> {
  const done = await worker.evaluate(code)
  if ('cause' in done) {
    return { status: 'failed', text: `The statement ended the process (${done.cause})`, isRestored: true }
  }
  memory.update(done)
  return toOutcome(done)
}

function toOutcome({ ok, interrupted, error, shown }: Answer<'done'>): StatementOutcome {
  if (interrupted) return { status: 'interrupted', text: error ?? 'Interrupted' }
  if (!ok) return { status: 'failed', text: error ?? 'failed' }
  return typeof shown === 'string' ? { status: 'shown', text: shown } : { status: 'silent' }
}

async function restart(
  worker: SupervisedWorker,
  memory: SessionMemory,
  keepsVariables: boolean,
): Promise<string[]> {
  if (keepsVariables) memory.update(await worker.ask({ type: 'snapshot' }))
  else memory.forget()
  await worker.close()
  return notesOf(await worker.start())
}
