import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

export interface Ended {
  code: number
  stdout: string
  stderr: string
}

export type RunOnMachine = (words: readonly string[]) => Promise<Ended>

/** Runs in the container. As with `docker exec`, each program has its own session, no input, and 127 if it does not start. */
const SERVER = `
  const { spawn } = require('node:child_process')
  require('node:readline').createInterface(process.stdin).on('line', (line) => {
    const { id, words: [file, ...args] } = JSON.parse(line)
    const child = spawn(file, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    const output = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr']) {
      child[name].setEncoding('utf8').on('data', (text) => { output[name] += text })
    }
    const end = (code) => process.stdout.write(JSON.stringify({ id, code, ...output }) + '\\n')
    child.once('error', (error) => { output.stderr += error.message; end(127) })
    child.once('close', (code, signal) => {
      if (child.pid !== undefined) end(code ?? 128 + require('node:os').constants.signals[signal])
    })
  }).on('close', () => process.exit())
`

/**
 * Runs programs in a container by one `docker exec` for all of them: a single one takes more time than most programs.
 * It ends with the container.
 */
export function openMachineShell(container: string): RunOnMachine {
  const server = spawn('docker', ['exec', '--interactive', container, 'node', '-e', SERVER], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const waiting = new Map<number, { resolve(ended: Ended): void; reject(error: Error): void }>()
  let calls = 0
  let isClosed = false
  createInterface(server.stdout).on('line', (line) => {
    const { id, ...ended }: Ended & { id: number } = JSON.parse(line)
    waiting.get(id)?.resolve(ended)
    waiting.delete(id)
  })
  server.stdin.on('error', () => undefined) // Reported by the next line.
  server.once('close', (code) => {
    isClosed = true
    for (const { reject } of waiting.values()) reject(new Error(`The machine ended its shell with ${code}`))
  })
  return (words) =>
    new Promise((resolve, reject) => {
      if (isClosed) throw new Error('The machine has ended its shell')
      const id = calls++
      waiting.set(id, { resolve, reject })
      server.stdin.write(`${JSON.stringify({ id, words })}\n`)
    })
}
