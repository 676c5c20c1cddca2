import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { Duplex, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WorkerCommand } from '../backend.ts'
import {
  type CrashReport,
  openChannel,
  type WorkerChannel,
  WorkerDied,
  type WorkerNotification,
} from './channel.ts'

/** How often a copy is checked: it is not a child of this process. */
const CHECK_MS = 100
/** How often a dead worker is checked, until its copy has taken over or nothing is left. */
const DEAD_CHECK_MS = 20
/** How long messages that a worker wrote before its death may still take to arrive. */
const GRACE_MS = 300
/** How long a live copy may take to replace its dead worker. */
const TAKEOVER_MS = 10_000

/** Makes Linux end the worker with this process, however that ends; what computes would not look at its socket again. */
const END_WITH_PARENT = existsSync('/usr/bin/setpriv') ? ['/usr/bin/setpriv', '--pdeathsig', 'KILL'] : []

export interface WorkerProcess {
  /** Asks the worker; rejects with WorkerDied if it dies before it answers. */
  ask: WorkerChannel['ask']
  rejectAll: WorkerChannel['rejectAll']
  /** Notifies a worker of Ctrl-C if it gets no signal, or cannot notice one while it computes. */
  interrupt(): void
  kill(): void
  /** Asks the worker to end, and kills it if it does not; `onDeath` is not called. */
  close(): Promise<void>
}

export interface WorkerOptions {
  command: WorkerCommand
  cwd: string
  env: NodeJS.ProcessEnv
  onNotification(notification: Extract<WorkerNotification, { type: 'log' | 'opening' }>): void
  /** Called when the process that evaluates is dead and its copy has taken over, or nothing is left. */
  onDeath(crash: CrashReport): void
}

/** Starts the process of a worker, and follows its copy when that takes over (php). */
export function startWorker(options: WorkerOptions): WorkerProcess {
  const { child, socket, interruptPipe } = spawnWorker(options)
  const exited = untilExited(child)
  /** The process that evaluates: the child itself, or the copy that took over after its death. */
  let pid = child.pid ?? 0
  let copy: number | undefined
  /** The reason that the evaluating process has given for its end. */
  let announced: string | undefined
  let isOver = false

  const report = (crash: Partial<CrashReport>) => {
    const reason = announced ?? crash.reason ?? 'its process died'
    announced = undefined
    options.onDeath({ signal: undefined, restored: undefined, ...crash, reason })
  }
  const channel = openChannel(socket, (notification) => {
    switch (notification.type) {
      case 'protected':
        copy = notification.pid
        return
      case 'dying':
        announced = notification.reason
        return
      case 'restored':
        pid = notification.pid
        copy = undefined
        return report({ restored: notification.notes })
      default:
        return options.onNotification(notification)
    }
  })
  const release = () => {
    isOver = true
    channel.close()
    interruptPipe?.destroy()
  }
  const untilDead = async (watched: number) => {
    if (watched === (child.pid ?? 0)) return void (await exited)
    // Without a parent that reaps it, a dead copy looks alive forever; its socket is closed.
    while (isAlive(watched) && !socket.closed) await sleep(CHECK_MS, undefined, { ref: false })
  }
  const untilReplaced = async (watched: number) => {
    const diedAt = performance.now()
    const patienceMs = () => (copy !== undefined && isAlive(copy) ? TAKEOVER_MS : GRACE_MS)
    // A background process of the user may keep the socket open.
    while (pid === watched && !socket.closed && performance.now() - diedAt < patienceMs())
      await sleep(DEAD_CHECK_MS)
  }
  const watch = async () => {
    let watched: number
    do {
      watched = pid
      await untilDead(watched)
      await untilReplaced(watched)
    } while (pid !== watched)
    if (isOver) return
    release()
    report(watched === (child.pid ?? 0) ? await exited : {})
  }
  void watch()
  return {
    ask: channel.ask,
    rejectAll: channel.rejectAll,
    interrupt: () => void interruptPipe?.write('c'),
    kill: () => killQuietly(pid),
    async close() {
      if (isOver) return
      channel.notify('bye')
      isOver = true
      await Promise.race([untilDead(pid), sleep(GRACE_MS)])
      killQuietly(pid)
      release()
      channel.rejectAll(new WorkerDied())
    },
  }
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

type Exit = Partial<Pick<CrashReport, 'signal'>> & Pick<CrashReport, 'reason'>

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
