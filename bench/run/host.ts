import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { nextMessage, spawnPinned } from './pinned-process.ts'

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

/** Linux counts processor time in ticks of a hundredth of a second. */
const TICK_MICROS = 10_000
const KIB_PER_MIB = 1024

/** Starts a service in its own process and waits until it is ready. */
export async function startHost(
  name: string,
  file: string,
  environment: NodeJS.ProcessEnv,
  options: readonly string[] = [],
): Promise<Host> {
  const begun = performance.now()
  const child = spawnPinned('service', file, environment, options)
  const { address = '' } = await nextMessage<{ address?: string }>(name, child)
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
