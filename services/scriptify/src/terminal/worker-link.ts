import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { Duplex, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, type AnswerOf, WorkerMessage, type WorkerRequest } from './protocol.ts'
import type { WorkerCommand } from './terminal-runtime.ts'

/** How often a worker that is no longer our own child is looked at. */
const LOOK_MS = 500
const GRACE_MS = 300

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

  const rejectPending = (isRestored: boolean) => {
    for (const { reject } of pending.values()) reject(new WorkerDied(isRestored))
    pending.clear()
  }
  const finish = (reason?: string) => {
    if (isOver) return
    isOver = true
    clearInterval(watch)
    socket.destroy()
    interruptPipe?.destroy()
    if (!isClosing) events.onGone({ reason: lastWords.reason ?? reason, snapshot: lastWords.snapshot })
    rejectPending(false)
  }
  const receive = (line: string) => {
    const parsed = WorkerMessage.safeParse(parseJson(line))
    if (!parsed.success) return
    const message = parsed.data
    if (message.type === 'log') return events.onLog(message.text)
    if (message.type === 'dying') {
      lastWords = {
        reason: message.reason,
        ...(message.snapshot !== undefined && { snapshot: message.snapshot }),
      }
      return
    }
    if (message.type === 'restored') {
      pid = message.pid
      const { reason } = lastWords
      lastWords = {}
      events.onRestored({ reason, notes: message.notes })
      return rejectPending(true)
    }
    pending.get(message.id)?.resolve(message)
    pending.delete(message.id)
  }

  // A process that the user left in the background may hold the socket open, so its end alone is not waited for.
  const watch = setInterval(() => {
    if (!isAlive(pid, isChildGone ? undefined : child.pid)) finish()
  }, LOOK_MS)
  watch.unref()
  createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY }).on('line', receive)
  socket.on('error', () => {})
  interruptPipe?.on('error', () => {})
  socket.on('close', () => finish())
  child.on('error', (error) => finish(error.message))
  child.on('exit', async (code, signal) => {
    isChildGone = true
    const reason = signal === null ? `it ended with status ${code}` : `it was ended by ${signal}`
    // Its backup, if it has one, answers within this time and brings a new pid.
    await sleep(GRACE_MS, undefined, { ref: !isClosing })
    if (pid === child.pid) finish(reason)
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
