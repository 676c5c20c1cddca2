import { readdir, readFile } from 'node:fs/promises'
import { availableParallelism, setPriority } from 'node:os'

/** For DNS, files and WebCrypto while all cores hash. */
const SPARE_THREADS = 4
const LIBUV_DEFAULT = '4'

const TASKS = '/proc/self/task'
const NICE = 5

/**
 * Gives libuv's pool a thread for each core and some to spare, unless UV_THREADPOOL_SIZE is set. Has no effect once the
 * pool has had a job: some packages give it one while they are loaded.
 */
export function sizePool(environment: NodeJS.ProcessEnv = process.env): void {
  environment.UV_THREADPOOL_SIZE ||= String(availableParallelism() + SPARE_THREADS)
}

/** The threads that may hash: all but one. libuv takes what is not a number for 1. */
export const hashingThreads = ({ UV_THREADPOOL_SIZE = LIBUV_DEFAULT } = process.env): number =>
  Math.max(0, (Number.parseInt(UV_THREADPOOL_SIZE, 10) || 1) - 1)

/**
 * Lowers the priority of the pool's threads, so that the event loop runs first. On Linux only: elsewhere a process has
 * one priority. libuv starts all threads before its first job, at the latest the reading of `/proc`, and each names itself.
 */
export async function lowerPoolPriority(): Promise<void> {
  const ids = await readdir(TASKS).catch(() => [])
  await Promise.all(ids.map((id) => lowerPriority(id).catch(() => undefined)))
}

async function lowerPriority(id: string): Promise<void> {
  const name = await readFile(`${TASKS}/${id}/comm`, 'utf8')
  if (name === 'libuv-worker\n') setPriority(Number(id), NICE)
}
