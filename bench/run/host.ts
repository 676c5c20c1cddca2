import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { nextMessage, spawnPinned } from './pinned-process.ts'

/** A service that is measured. */
export interface Host extends AsyncDisposable {
  name: string
  url: string
  /** Milliseconds from the spawn to the message that it is ready. */
  startMs: number
  /** Processor time so far of all its threads, in microseconds; undefined where the system does not tell. */
  cpuMicros(): Promise<number | undefined>
  /** Resident memory now and at most, in MiB. */
  memory(): Promise<Memory | undefined>
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

/** A service that runs elsewhere, of which only the answers are known. */
export const remoteHost = (name: string, url: string): Host => ({
  name,
  url: url.replace(/\/$/, ''),
  startMs: Number.NaN,
  cpuMicros: async () => undefined,
  memory: async () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
})

/** Its memory, NaN where the system does not tell. */
export async function measureMib(host: Host): Promise<Memory> {
  return (await host.memory()) ?? { residentMib: Number.NaN, peakMib: Number.NaN }
}

async function readCpu(pid = 0): Promise<number | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  // The second field, the name, may contain spaces.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields && (Number(fields[11]) + Number(fields[12])) * TICK_MICROS
}

async function readMemory(pid = 0): Promise<Memory | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => undefined)
  const kib = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status ?? '')?.[1])
  return status === undefined
    ? undefined
    : { residentMib: kib('VmRSS') / KIB_PER_MIB, peakMib: kib('VmHWM') / KIB_PER_MIB }
}
