import type { RuntimeName } from '../classes/choose-runtime.ts'
import { CliError, EXIT } from '../io/cli-error.ts'
import type { Answer } from './worker/protocol.ts'
import { createSessionMemory, type SessionMemory } from './worker/session-memory.ts'
import {
  notesOf,
  type Opened,
  type SessionOptions,
  type SupervisedWorker,
  superviseWorker,
} from './worker/supervisor.ts'

export type StatementOutcome =
  | { status: 'shown'; text: string }
  | { status: 'silent' }
  | { status: 'interrupted'; text: string }
  | { status: 'failed'; text: string; isRestored?: true }

/** A terminal's session, which outlives the process that evaluates. */
export interface Session {
  /** What the worker reported when it was ready. */
  opened: Opened
  /** Whether the text needs more lines. */
  isIncomplete(code: string): Promise<boolean>
  evaluate(code: string): Promise<StatementOutcome>
  complete(line: string): Promise<{ word: string; candidates: string[] }>
  /** Lists variables, functions and classes. */
  list(): Promise<string>
  /** Documents a function, class or method, or gives its source. */
  describe(name: string, source: boolean): Promise<string>
  /** The code that prints the tables of the executor's database, or one of them. */
  codeOfDatabase(table: string): string
  /** Asks the worker to stop what it runs: the first Ctrl-C. */
  interrupt(): void
  /** Kills the worker: the second Ctrl-C. The running statement is lost, the session is not. */
  kill(): void
  /** Starts a new worker, with the imports, declarations and plain variables of the old one or without; gives what to say. */
  restart(options: { keepsVariables: boolean }): Promise<string[]>
  close(): Promise<void>
}

/**
 * Opens a session; resolves when its worker is ready. Rejects with a CliError: 1 if its process dies before that, 2 without
 * the sandbox that it is to have.
 */
export async function openSession(options: SessionOptions): Promise<Session> {
  const memory = createSessionMemory()
  const worker = superviseWorker(options, memory)
  return {
    opened: await open(worker, options),
    isIncomplete: async (code) => (await worker.ask({ type: 'check', code })).incomplete,
    evaluate: (code) => evaluate(worker, memory, code),
    complete: (line) => worker.ask({ type: 'complete', line }),
    list: async () => (await worker.ask({ type: 'list' })).text,
    describe: async (name, source) =>
      (await worker.describe({ type: 'describe', name, source })) ??
      `${name} cannot be described: loading it ended the process`,
    codeOfDatabase: (table) => databaseCode(options.backend.name, table),
    interrupt: worker.interrupt,
    kill: worker.kill,
    restart: ({ keepsVariables }) => restart(worker, memory, keepsVariables),
    close: worker.close,
  }
}

async function open(worker: SupervisedWorker, { sandbox, preload }: SessionOptions): Promise<Opened> {
  const opened = await worker.start()
  if (!sandbox || opened.sandboxed) return opened
  await worker.close()
  throw new CliError(
    `--sandbox needs an executor with isSandboxed, and ${preload ?? 'a terminal without a preload file'} has none`,
    EXIT.usage,
  )
}

function databaseCode(runtime: RuntimeName, table: string): string {
  const missing = `"The executor is missing: .db needs a preload file that defines it\\n"`
  if (runtime === 'node') {
    const name = table === '' ? '' : JSON.stringify(table)
    return `typeof executor === 'undefined' ? process.stdout.write(${missing}) : await executor.describe(${name});;`
  }
  const name = table === '' ? '' : `'${table.replaceAll(/['\\]/g, '\\$&')}'`
  return `if (isset($executor)) { $executor->describe(${name}); } else { echo ${missing}; }`
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
