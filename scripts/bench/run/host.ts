import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'

/** A service that is measured. */
export interface Host extends AsyncDisposable {
  name: string
  url: string
  /** Milliseconds from the spawn to the message that it is ready. */
  startMs: number
  /** Processor time so far of all its threads, in microseconds; NaN where the system does not tell. */
  cpuMicros(): Promise<number>
  /** Resident memory now and at most, in MiB; NaN where the system does not tell. */
  memory(): Promise<Memory>
}

export interface Memory {
  residentMib: number
  peakMib: number
}

const CORES = availableParallelism()
/** The service that is measured has the first core for itself; everything else shares the others. */
const SERVICE_CORES = '0'
const OTHER_CORES = CORES > 2 ? `1-${CORES - 1}` : '1'
/** Linux counts processor time in ticks of a hundredth of a second. */
const TICK_MICROS = 10_000
const KIB_PER_MIB = 1024

export const canPin = CORES > 1 && hasTaskset()

/** Moves this process, and with it the database that it starts, to the cores that the service does not have. */
export function pinBenchmark(): void {
  if (canPin) execFileSync('taskset', ['-a', '-c', '-p', OTHER_CORES, String(process.pid)])
}

/** Starts a service in its own process, on its own core where `taskset` is installed, and waits until it is ready. */
export async function startHost(
  name: string,
  file: string,
  environment: NodeJS.ProcessEnv,
  options: readonly string[] = [],
): Promise<Host> {
  const begun = performance.now()
  const node = [process.execPath, ...options, file]
  const [command = '', ...args] = canPin ? ['taskset', '-c', SERVICE_CORES, ...node] : node
  const child = spawn(command, args, { env: environment, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const address = await new Promise<string>((resolve, reject) => {
    child.once('message', (message: { address?: string }) => resolve(message.address ?? ''))
    child.once('exit', (code, signal) => reject(new Error(`${name} ended with ${code ?? signal}`)))
  })
  const startMs = performance.now() - begun
  return {
    name,
    url: address.replace('0.0.0.0', '127.0.0.1'),
    startMs,
    cpuMicros: () => readCpu(child.pid),
    memory: () => readMemory(child.pid),
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

async function readCpu(pid = 0): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The second field, the name, may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MICROS
}

async function readMemory(pid = 0): Promise<Memory> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const mib = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / KIB_PER_MIB
  return { residentMib: mib('VmRSS'), peakMib: mib('VmHWM') }
}

function hasTaskset(): boolean {
  try {
    execFileSync('taskset', ['--version'], { stdio: 'pipe' })
    return true
  } catch {
    return false
  }
}
