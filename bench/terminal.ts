// Measures the time to the first prompt and per input: `npm run bench:terminal`. The php rows need php 8.3 or newer.
import { spawnSync } from 'node:child_process'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { spawn } from '@lydell/node-pty'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const MAIN = `${ROOT}services/scriptify/src/main.ts`
const RUNS = 7
const INPUTS = 50

interface Contender {
  name: string
  file: string
  args: string[]
  prompt: RegExp
  /** The input of a round, and the pattern of its answer. */
  input(round: number): string
  answer(round: number): RegExp
}

const terminal = (runtime: 'php' | 'node'): Contender => ({
  name: `scriptify terminal (${runtime})`,
  file: process.execPath,
  args: [MAIN, 'terminal', '--runtime', runtime, '--no-history', '--no-preload'],
  prompt: runtime === 'php' ? /php> $/ : /node> $/,
  input: (round) => `${round} * 1000003`,
  answer: (round) => new RegExp(`=> \\D*${round * 1_000_003}[\\s\\S]*> $`),
})

const has = (file: string) => spawnSync(file, ['--version']).error === undefined
const contenders: Contender[] = [
  ...(has('php')
    ? [
        terminal('php'),
        {
          name: 'php -a',
          file: 'php',
          args: ['-a'],
          prompt: /php > $/,
          input: (round: number) => `echo ${round} * 1000003;`,
          answer: (round: number) => new RegExp(`${round * 1_000_003}[\\s\\S]*php > $`),
        },
      ]
    : []),
  ...(has('psysh')
    ? [
        {
          name: 'psysh',
          file: 'psysh',
          args: ['--no-color'],
          prompt: /> $/,
          input: (round: number) => `${round} * 1000003`,
          answer: (round: number) => new RegExp(`= ${round * 1_000_003}[\\s\\S]*> $`),
        },
      ]
    : []),
  terminal('node'),
  {
    name: 'node (its own REPL)',
    file: process.execPath,
    args: [],
    prompt: /> $/,
    input: (round) => `${round} * 1000003`,
    answer: (round) => new RegExp(`\\n\\D*${round * 1_000_003}[\\s\\S]*> $`),
  },
]

if (!has('php')) console.log('php was not found; only node is measured')
for (const contender of contenders) {
  const starts: number[] = []
  for (let run = 0; run < RUNS; run++) starts.push((await measure(contender, 0)).start)
  const { inputs } = await measure(contender, INPUTS)
  const [start, input] = [median(starts).toFixed(0).padStart(5), median(inputs).toFixed(2).padStart(7)]
  const slowest = Math.max(...inputs)
    .toFixed(1)
    .padStart(6)
  console.log(
    `${contender.name.padEnd(26)} start to prompt ${start} ms   an input ${input} ms (slowest ${slowest})`,
  )
}

/** Runs one session; returns the milliseconds to its first prompt, and from Enter to the next prompt for each input. */
async function measure({ file, args, prompt, input, answer }: Contender, rounds: number) {
  const begin = performance.now()
  const pty = spawn(file, args, {
    name: 'xterm',
    cols: 100,
    rows: 40,
    cwd: ROOT,
    env: { ...process.env, NO_COLOR: '1' },
  })
  let seen = ''
  let wake = () => {}
  pty.onData((data) => {
    seen += data
    wake()
  })
  const until = async (what: RegExp) => {
    while (!what.test(stripVTControlCharacters(seen))) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    seen = ''
  }
  await until(prompt)
  const start = performance.now() - begin
  const inputs: number[] = []
  for (let round = 2; round < rounds + 2; round++) {
    // Lets the echo of the input pass before the measurement.
    pty.write(input(round))
    await new Promise((resolve) => setTimeout(resolve, 30))
    const entered = performance.now()
    pty.write('\r')
    await until(answer(round))
    inputs.push(performance.now() - entered)
  }
  // A normal exit, because Node writes its compile cache then.
  const ended = new Promise((resolve) => pty.onExit(resolve))
  pty.write('\x04')
  await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 1000))])
  pty.kill('SIGKILL')
  return { start, inputs: inputs.slice(2) }
}

function median(values: number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN
}
