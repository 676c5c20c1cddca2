import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { Duplex, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WorkerCommand } from '../runtimes/terminal-backend.ts'
import {
  type Answer,
  type AnswerOf,
  type OpeningStep,
  WorkerMessage,
  type WorkerRequest,
} from '../runtimes/terminal-protocol.ts'

/** How often a worker is looked at, whose socket a process in the background may hold open. */
const LOOK_MS = 500
/** How often a dead one is, until a copy took over or nobody did. */
const LOOK_FOR_COPY_MS = 50
const GRACE_MS = 300
/** How long a live copy may take to answer in its dead worker's place. */
const TAKEOVER_MS = 10_000

export interface WorkerLink {
  /** Asks the worker; rejects with WorkerDied if it dies before it answers. */
  ask<T extends WorkerRequest['type']>(
    request: Extract<WorkerRequest, { type: T }>,
  ): Promise<Answer<AnswerOf[T]>>
  interrupt(): void
  kill(): void
  /** Ends the worker in an orderly way, and if it does not end, by force. */
  close(): Promise<void>
}

export interface WorkerEvents {
  onLog(text: string): void
  onOpening(step: OpeningStep): void
  /** The worker's backup took over; `reason` is what the dead one managed to say. */
  onRestored(news: { reason: string | undefined; notes: string[] }): void
  /** Nobody is left; `snapshot` is the dead worker's last one, if it managed to send it. */
  onGone(news: { reason: string | undefined; snapshot: string | undefined }): void
}

/** The worker died while it was answering; `isRestored` tells whether its backup is there to go on. */
export class WorkerDied extends Error {
  readonly isRestored: boolean

  constructor(isRestored: boolean) {
    super('The worker died')
    this.isRestored = isRestored
  }
}

interface Pending {
  resolve(message: WorkerMessage): void
  reject(error: Error): void
}

export interface WorkerOptions {
  command: WorkerCommand
  cwd: string
  env: NodeJS.ProcessEnv
  stdin: 'inherit' | 'ignore'
  events: WorkerEvents
}

/** Starts a worker and speaks the protocol with it, one JSON object per line on its fd 3. */
export function startWorker({ command, cwd, env, stdin, events }: WorkerOptions): WorkerLink {
  // Not detached: the front-end must stay the session's leader, or a worker's death hangs the terminal up.
  const child = spawn(command.file, command.args, {
    cwd,
    env,
    stdio: [stdin, 'inherit', 'inherit', 'pipe', command.hasInterruptPipe ? 'pipe' : 'ignore'],
  })
  const socket = child.stdio[3]
  if (!(socket instanceof Duplex)) throw new Error('no socket to the worker')
  const interruptPipe = child.stdio[4] instanceof Writable ? child.stdio[4] : undefined
  const pending = new Map<number, Pending>()
  let pid = child.pid ?? 0
  let lastId = 0
  let isOver = false
  let isClosing = false
  let lastWords: { reason?: string; snapshot?: string } = {}
  let isChildGone = false
  /** The sleeping copy of the worker, if it has one. */
  let copy: number | undefined
  let deadSince: number | undefined
  let exitReason: string | undefined
  let nextLook: NodeJS.Timeout | undefined

  const rejectPending = (isRestored: boolean) => {
    for (const { reject } of pending.values()) reject(new WorkerDied(isRestored))
    pending.clear()
  }
  const finish = (reason?: string) => {
    if (isOver) return
    isOver = true
    clearTimeout(nextLook)
    socket.destroy()
    interruptPipe?.destroy()
    if (!isClosing)
      events.onGone({ reason: lastWords.reason ?? reason ?? exitReason, snapshot: lastWords.snapshot })
    rejectPending(false)
  }
  /** Ends the link when the worker is dead and no copy is about to take over. */
  const look = () => {
    clearTimeout(nextLook)
    if (isOver) return
    if (isAlive(pid, isChildGone ? undefined : child.pid)) {
      deadSince = undefined
      nextLook = setTimeout(look, LOOK_MS).unref()
      return
    }
    deadSince ??= performance.now()
    const isCopyAlive = copy !== undefined && isAlive(copy, undefined)
    // Without a copy too: what the worker wrote before its death may still be on its way.
    if (performance.now() - deadSince > (isCopyAlive ? TAKEOVER_MS : GRACE_MS)) return finish()
    nextLook = setTimeout(look, LOOK_FOR_COPY_MS)
    if (isClosing) nextLook.unref()
  }
  const receive = (line: string) => {
    const parsed = WorkerMessage.safeParse(parseJson(line))
    if (!parsed.success) return
    const message = parsed.data
    if (message.type === 'log') return events.onLog(message.text)
    if (message.type === 'opening') return events.onOpening(message.step)
    if (message.type === 'dying') {
      lastWords = {
        reason: message.reason,
        ...(message.snapshot !== undefined && { snapshot: message.snapshot }),
      }
      return
    }
    if (message.type === 'protected') {
      copy = message.pid
      return
    }
    if (message.type === 'restored') {
      pid = message.pid
      copy = undefined
      deadSince = undefined
      exitReason = undefined
      const { reason } = lastWords
      lastWords = {}
      events.onRestored({ reason, notes: message.notes })
      return rejectPending(true)
    }
    pending.get(message.id)?.resolve(message)
    pending.delete(message.id)
  }

  look()
  // A worker that dies with a question unread resets the socket; readline passes the error on as its own.
  createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY })
    .on('line', receive)
    .on('error', () => {})
  socket.on('error', () => {})
  interruptPipe?.on('error', () => {})
  socket.on('close', () => {
    if (isOver || isChildGone) return finish()
    // How it ended is about to be known.
    child.once('exit', () => finish())
    setTimeout(() => finish(), GRACE_MS).unref()
  })
  child.on('error', (error) => finish(error.message))
  child.on('exit', (code, signal) => {
    isChildGone = true
    if (pid === child.pid)
      exitReason = signal === null ? `it ended with status ${code}` : `it was ended by ${signal}`
    look()
  })

  return {
    ask<T extends WorkerRequest['type']>(request: Extract<WorkerRequest, { type: T }>) {
      const id = ++lastId
      return new Promise<Answer<AnswerOf[T]>>((resolve, reject) => {
        if (isOver) return reject(new WorkerDied(false))
        pending.set(id, { resolve: resolve as (message: WorkerMessage) => void, reject })
        socket.write(`${JSON.stringify({ id, ...request })}\n`)
      })
    },
    interrupt() {
      interruptPipe?.write('c')
    },
    kill() {
      if (!isOver) killQuietly(pid)
    },
    async close() {
      isClosing = true
      if (isOver) return
      socket.write('{"id":0,"type":"bye"}\n')
      const closed = new Promise<void>((resolve) => child.once('exit', () => resolve()))
      await Promise.race([isChildGone ? untilDead(pid) : closed, sleep(GRACE_MS)])
      killQuietly(pid)
      finish()
    },
  }
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/** Our own child is known by its exit event; kill(2) would take its zombie for alive. */
function isAlive(pid: number, child: number | undefined): boolean {
  if (pid === child) return true
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Gives up in time: where nobody reaps it, a dead process looks alive for ever. */
async function untilDead(pid: number): Promise<void> {
  for (let waited = 0; waited < GRACE_MS && isAlive(pid, undefined); waited += 10) await sleep(10)
}

function killQuietly(pid: number): void {
  try {
    if (pid > 0) process.kill(pid, 'SIGKILL')
  } catch {
    // It is gone already.
  }
}
