import { spawn } from 'node:child_process'
import { Duplex, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WorkerCommand } from '../backend.ts'
import type { OpeningStep } from './protocol.ts'
import { openChannel, type WorkerChannel, WorkerDied, type WorkerNews } from './worker-channel.ts'
import { GRACE_MS, killQuietly, type WorkerLife, watchLife } from './worker-life.ts'

export interface WorkerProcess {
  /** Asks the worker; rejects with WorkerDied if it dies before it answers. */
  ask: WorkerChannel['ask']
  interrupt(): void
  kill(): void
  /** Lets the worker end by itself, once nothing is pending there: see `onEnded`. */
  finish(): void
  /** Asks the worker to end, and kills it if it does not. */
  close(): Promise<void>
}

export interface WorkerEvents {
  onLog(news: Extract<WorkerNews, { type: 'log' }>): void
  onOpening(step: OpeningStep): void
  /** The worker's copy took over; `reason` is what the dead worker managed to send. */
  onRestored(news: { reason: string | undefined; notes: string[] }): void
  /** The worker died without a copy, `signal` may have ended it; `snapshot` is its last one, if it managed to send it. */
  onGone(news: LastWords & { signal: NodeJS.Signals | undefined }): void
  /** The worker ended by itself, after `finish` or by its script's own exit(); undefined if a signal ended it. */
  onEnded(status: number | undefined): void
}

export interface WorkerOptions {
  command: WorkerCommand
  cwd: string
  env: NodeJS.ProcessEnv
  stdin: 'inherit' | 'ignore'
  events: WorkerEvents
}

/** What a dying worker managed to send. */
interface LastWords {
  reason: string | undefined
  snapshot: string | undefined
}
const NO_LAST_WORDS: LastWords = { reason: undefined, snapshot: undefined }

/** Starts a worker, and follows its copy when that takes over. */
export function startWorker(options: WorkerOptions): WorkerProcess {
  const { child, socket, interruptPipe } = spawnWorker(options)
  const { events } = options
  let state: 'running' | 'ending' | 'closing' | 'over' = 'running'
  const release = () => {
    state = 'over'
    life.stop()
    channel.close()
    interruptPipe?.destroy()
  }
  const finish = (reason?: string): void => {
    if (state === 'over' || state === 'ending') return
    const isExpected = state === 'closing'
    release()
    const { snapshot, reason: said } = news.lastWords()
    if (!isExpected) {
      const signal = child.signalCode ?? undefined
      events.onGone({ snapshot, signal, reason: said ?? reason ?? life.exitReason() })
    }
    channel.rejectAll(new WorkerDied(false))
  }
  const letEnd = async (announced?: number): Promise<void> => {
    if (state !== 'running') return
    state = 'ending'
    life.stop()
    // A thread of the worker that still waits for Ctrl-C would keep the process from ending.
    interruptPipe?.destroy()
    // Without a parent that reaps it, a dead copy looks alive forever.
    const status = await (life.isCopy() ? Promise.race([life.untilEnded(), closed]) : life.untilEnded())
    // What it wrote last is on its way; a background process may keep the socket open.
    await Promise.race([closed, sleep(GRACE_MS)])
    if (state !== 'ending') return
    release()
    events.onEnded(status ?? announced)
  }
  const closed = new Promise<undefined>((resolve) => socket.once('close', () => resolve(undefined)))
  const life = watchLife(child, finish)
  const channel = openChannel(socket, (message) => news.receive(message))
  const news = createNewsReceiver(events, { life, channel, letEnd })
  // How the child ended is not known yet.
  socket.on('close', () => life.afterExit(finish))
  child.on('error', (error) => finish(error.message))
  return {
    ask: channel.ask,
    interrupt: () => void interruptPipe?.write('c'),
    kill() {
      if (state !== 'over') killQuietly(life.pid())
    },
    finish() {
      channel.say('finish')
      void letEnd()
    },
    async close() {
      if (state === 'over') return
      if (state === 'running') channel.say('bye')
      else killQuietly(life.pid())
      state = 'closing'
      await life.untilDead()
      killQuietly(life.pid())
      finish()
    },
  }
}

function spawnWorker({ command, cwd, env, stdin }: WorkerOptions) {
  // Not detached: the terminal must stay the session leader, or the death of a worker would hang it up.
  const child = spawn(command.file, command.args, {
    cwd,
    env,
    stdio: [stdin, 'inherit', 'inherit', 'pipe', command.hasInterruptPipe ? 'pipe' : 'ignore'],
  })
  const socket = child.stdio[3]
  if (!(socket instanceof Duplex)) throw new Error('The socket to the worker is missing')
  const interruptPipe = child.stdio[4] instanceof Writable ? child.stdio[4] : undefined
  interruptPipe?.on('error', () => {})
  return { child, socket, interruptPipe }
}

interface Receiving {
  life: WorkerLife
  channel: WorkerChannel
  letEnd(announced: number): Promise<void>
}

function createNewsReceiver(events: WorkerEvents, { life, channel, letEnd }: Receiving) {
  let lastWords = NO_LAST_WORDS
  const restored = ({ pid, notes }: Extract<WorkerNews, { type: 'restored' }>) => {
    life.follow(pid)
    const { reason } = lastWords
    lastWords = NO_LAST_WORDS
    events.onRestored({ reason, notes })
    channel.rejectAll(new WorkerDied(true))
  }
  return {
    lastWords: () => lastWords,
    receive(news: WorkerNews): void {
      if (news.type === 'log') events.onLog(news)
      if (news.type === 'opening') events.onOpening(news.step)
      if (news.type === 'exiting') void letEnd(news.code)
      if (news.type === 'protected') life.setCopy(news.pid)
      if (news.type === 'dying') lastWords = { reason: news.reason, snapshot: news.snapshot }
      if (news.type === 'restored') restored(news)
    },
  }
}
