import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { Duplex, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WorkerCommand } from '../front/backend.ts'
import { openChannel, type WorkerChannel, type WorkerNotification } from './channel.ts'

/** The time between two checks of a copy: it is not a child of this process. */
const CHECK_MS = 100
/** The time between two searches for a copy after a death, until it has taken over or nothing is left. */
const DEAD_CHECK_MS = 20
/** The time that messages which a worker wrote before its death may still take to arrive. */
const GRACE_MS = 300
/** The time that a live copy may take to replace its dead worker. */
const TAKEOVER_MS = 10_000

/** Makes Linux end the worker with this process, however that ends; what computes would not look at its socket again. */
const END_WITH_PARENT = existsSync('/usr/bin/setpriv') ? ['/usr/bin/setpriv', '--pdeathsig', 'KILL'] : []

/** The death of a worker's process. */
export interface Crash {
  reason: string
  /** The signal that ended it, if the system tells. */
  signal?: NodeJS.Signals
  /** The sleeping copy that has taken over (php), and what it has to say. */
  successor?: { worker: WorkerProcess; notes: string[] }
}

/** A worker died before it answered; without a crash it was closed. */
export class WorkerDied extends Error {
  readonly crash: Crash | undefined

  constructor(crash: Crash | undefined) {
    super('The worker died')
    this.crash = crash
  }
}

/** A process that evaluates. */
export interface WorkerProcess {
  /** Resolves when it is dead and its copy has taken over, or nothing is left; undefined when it was closed. */
  ended: Promise<Crash | undefined>
  /** Asks the worker; rejects with WorkerDied if it ends before it answers. */
  ask: WorkerChannel['ask']
  /** Notifies a worker of Ctrl-C if it gets no signal, or cannot notice one while it computes. */
  interrupt(): void
  kill(): void
  /** Asks the worker to end, and kills it if it does not. */
  close(): Promise<void>
}

export interface WorkerOptions {
  command: WorkerCommand
  cwd: string
  env: NodeJS.ProcessEnv
  onNotification(notification: Extract<WorkerNotification, { type: 'log' | 'opening' }>): void
}

/** The facts that a process has told about itself. */
interface Told {
  /** The number of its sleeping copy. */
  copy?: number
  /** The reason why it ends. */
  reason?: string
}

/** Starts the process of a worker. */
export function startWorker(options: WorkerOptions): WorkerProcess {
  const { child, socket, interruptPipe } = spawnWorker(options)
  let told: Told = {}
  let end: (crash?: Crash) => void
  const channel = openChannel(socket, (notification) => {
    switch (notification.type) {
      case 'protected':
        told.copy = notification.pid
        return
      case 'dying':
        told.reason = notification.reason
        return
      case 'restored': {
        const { pid, notes } = notification
        const [reason, endDead] = [told.reason ?? 'its process died', end]
        return endDead({ reason, successor: { worker: follow(pid, untilGone(pid, socket)), notes } })
      }
      default:
        return options.onNotification(notification)
    }
  })
  const release = () => {
    channel.close()
    interruptPipe?.destroy()
  }
  /** Follows the process of this number to its end: the child, or a copy that has taken over. */
  const follow = (pid: number, exited: Promise<Exit>): WorkerProcess => {
    const own: Told = {}
    const ended = Promise.withResolvers<Crash | undefined>()
    told = own
    end = ended.resolve
    const untilNothingIsLeft = async () => {
      const exit = await exited
      let isReplaced = false
      void ended.promise.then(() => {
        isReplaced = true
      })
      const diedAt = performance.now()
      const patienceMs = () => (own.copy !== undefined && isAlive(own.copy) ? TAKEOVER_MS : GRACE_MS)
      // A background process of the user may keep the socket open.
      while (!isReplaced && !socket.closed && performance.now() - diedAt < patienceMs())
        await sleep(DEAD_CHECK_MS)
      if (isReplaced) return
      release()
      ended.resolve({ ...exit, reason: own.reason ?? exit.reason })
    }
    void untilNothingIsLeft()
    return {
      ended: ended.promise,
      ask: (request) =>
        Promise.race([
          channel.ask(request),
          ended.promise.then((crash) => Promise.reject(new WorkerDied(crash))),
        ]),
      interrupt: () => void interruptPipe?.write('c'),
      kill: () => killQuietly(pid),
      async close() {
        ended.resolve(undefined)
        channel.notify('bye')
        const isAlive = await Promise.race([exited.then(() => false), sleep(GRACE_MS, true)])
        if (isAlive) killQuietly(pid)
        release()
      },
    }
  }
  return follow(child.pid ?? 0, untilExited(child))
}

function spawnWorker({ command, cwd, env }: WorkerOptions) {
  const [file = '', ...args] = [...END_WITH_PARENT, command.file, ...command.args]
  // It is not detached: the terminal must stay the session leader, or the death of a worker would hang it up.
  const child = spawn(file, args, {
    cwd,
    env,
    stdio: ['inherit', 'inherit', 'inherit', 'pipe', command.hasInterruptPipe ? 'pipe' : 'ignore'],
  })
  const socket = child.stdio[3]
  if (!(socket instanceof Duplex)) throw new Error('The socket to the worker is missing')
  const interruptPipe = child.stdio[4] instanceof Writable ? child.stdio[4] : undefined
  interruptPipe?.on('error', () => {})
  return { child, socket, interruptPipe }
}

type Exit = Pick<Crash, 'reason' | 'signal'>

/** Resolves when the child has ended, or could not be started. */
function untilExited(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('error', ({ message }) => resolve({ reason: message }))
    child.once('exit', (status, signal) => {
      if (signal === null) resolve({ reason: `it ended with status ${status}` })
      else resolve({ signal, reason: `it was ended by ${signal}` })
    })
  })
}

/** Resolves when a copy is dead. Without a parent that reaps it, it looks alive forever; its socket is closed. */
async function untilGone(pid: number, socket: Duplex): Promise<Exit> {
  while (isAlive(pid) && !socket.closed) await sleep(CHECK_MS)
  return { reason: 'its process died' }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

function killQuietly(pid: number): void {
  try {
    if (pid > 0) process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}
