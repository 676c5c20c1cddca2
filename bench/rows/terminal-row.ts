import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { type IPty, spawn } from '@lydell/node-pty'
import { answers, hasPhp } from '../run/installed.ts'
import { median } from '../run/quantile.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const SCRIPTIFY = join(ROOT, 'services/scriptify/bin/scriptify')
const INPUTS = 50
/** The first inputs pay for code that is compiled at its first use. */
const WARM_UP = 2
const FACTOR = 1_000_003
/** Lets the echo of an input pass before Enter, and a session settle before its memory is read. */
const ECHO_MS = 30
const SETTLE_MS = 1_000
const TIMEOUT_MS = 30_000

interface Prompt {
  host: string
  language: 'node' | 'php'
  command: readonly [file: string, ...args: string[]]
  prompt: RegExp
  /** What is typed, where it is not `factor * number`. */
  write?: (product: string) => string
}

const ofScriptify = (language: 'node' | 'php'): Prompt => ({
  host: `scriptify terminal (${language})`,
  language,
  command: [process.execPath, SCRIPTIFY, 'terminal', '--runtime', language, '--no-history', '--no-preload'],
  prompt: new RegExp(`${language}> $`),
})

/** Those of a language follow Latchkey's. */
const PROMPTS: readonly Prompt[] = [
  ofScriptify('node'),
  { host: 'node', language: 'node', command: [process.execPath], prompt: /> $/ },
  ...(hasPhp ? [ofScriptify('php')] : []),
  ...(hasPhp && answers('psysh')
    ? [{ host: 'psysh', language: 'php', command: ['psysh', '--no-color'], prompt: /> $/ } as const]
    : []),
  ...(hasPhp
    ? [
        {
          host: 'php -a',
          language: 'php',
          command: ['php', '-a'],
          prompt: /php > $/,
          write: (product: string) => `echo ${product};`,
        } as const,
      ]
    : []),
]

export interface TerminalResult {
  host: string
  /** From the spawn to the first prompt. */
  startMs: number
  startOfLatchkey: number
  /** From Enter to the next prompt. */
  inputMs: number
  inputOfLatchkey: number
  /** Of all processes of a session without input; pages that they share count once. */
  idleMib: number
}

/** Starts each terminal in turn, round by round, and types a product into it; throws if an answer is wrong. */
export async function measureTerminals(rounds: number): Promise<TerminalResult[]> {
  const sessions = new Map<Prompt, Session[]>(PROMPTS.map((prompt) => [prompt, []]))
  for (let round = 0; round <= rounds; round++)
    for (const [prompt, own] of sessions) {
      const session = await runSession(prompt)
      // The first compiles.
      if (round > 0) own.push(session)
    }
  return [...sessions].map(([prompt, own]) => {
    const latchkey = [...sessions].find(([{ language }]) => language === prompt.language)?.[1] ?? []
    const ratio = (field: keyof Session) =>
      median(own.map((session, round) => (latchkey[round]?.[field] ?? Number.NaN) / session[field]))
    return {
      host: prompt.host,
      startMs: median(own.map(({ startMs }) => startMs)),
      startOfLatchkey: ratio('startMs'),
      inputMs: median(own.map(({ inputMs }) => inputMs)),
      inputOfLatchkey: ratio('inputMs'),
      idleMib: median(own.map(({ idleMib }) => idleMib)),
    }
  })
}

interface Session {
  startMs: number
  inputMs: number
  idleMib: number
}

async function runSession({ host, command, prompt, write = (product) => product }: Prompt): Promise<Session> {
  const begun = performance.now()
  const terminal = openTerminal(host, command)
  try {
    await terminal.see(prompt)
    const startMs = performance.now() - begun
    await wait(SETTLE_MS)
    const idleMib = await memoryOf(terminal.pty.pid)
    const inputs: number[] = []
    for (let number = 2; number < INPUTS + 2; number++) {
      terminal.pty.write(write(`${number} * ${FACTOR}`))
      await wait(ECHO_MS)
      const entered = performance.now()
      terminal.pty.write('\r')
      await terminal.see(new RegExp(`\\n\\D*${number * FACTOR}\\b[\\s\\S]*${prompt.source}`))
      inputs.push(performance.now() - entered)
    }
    await terminal.leave()
    return { startMs, inputMs: median(inputs.slice(WARM_UP)), idleMib }
  } finally {
    terminal.pty.kill('SIGKILL')
  }
}

interface BenchTerminal {
  pty: IPty
  /** Waits until what was shown since the last call matches; throws after half a minute. */
  see(pattern: RegExp): Promise<void>
  /** Ctrl-D: a session that ends by itself writes its compile cache. */
  leave(): Promise<void>
}

function openTerminal(host: string, [file, ...args]: Prompt['command']): BenchTerminal {
  const env = { ...process.env, NO_COLOR: '1' }
  const pty = spawn(file, args, { name: 'xterm', cols: 100, rows: 40, cwd: ROOT, env })
  const ended = new Promise((resolve) => pty.onExit(resolve))
  let seen = ''
  let look = () => {}
  pty.onData((data) => {
    seen += data
    look()
  })
  const see = (pattern: RegExp) =>
    new Promise<void>((resolve, reject) => {
      const fail = () => reject(new Error(`${host} did not show ${pattern}, but:\n${seen}`))
      const timer = setTimeout(fail, TIMEOUT_MS)
      look = () => {
        if (!pattern.test(stripVTControlCharacters(seen))) return
        clearTimeout(timer)
        seen = ''
        look = () => {}
        resolve()
      }
      look()
    })
  return {
    pty,
    see,
    async leave() {
      pty.write('\x04')
      await Promise.race([ended, wait(TIMEOUT_MS, undefined, { ref: false })])
    },
  }
}

/** MiB of a process and all below it; NaN where the system does not tell. */
async function memoryOf(pid: number): Promise<number> {
  try {
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8')
    const own = Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1]) / 1024
    const below = await Promise.all((await childrenOf(pid)).map(memoryOf))
    return below.reduce((sum, each) => sum + each, own)
  } catch {
    return Number.NaN
  }
}

async function childrenOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`)
  const lists = threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'utf8'))
  return (await Promise.all(lists)).join(' ').split(' ').filter(Boolean).map(Number)
}
