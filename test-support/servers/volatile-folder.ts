import { existsSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const IN_MEMORY = '/dev/shm'
/** More than the clusters of a run take; in a container the folder often has 64 MiB. */
const MINIMUM_BYTES = 4 * 1024 ** 3

/**
 * The folder for data that tests need only while they run. It is in memory where Linux has enough of it: to copy a database
 * takes three times the processor time on the file system of a disk.
 */
export const VOLATILE_FOLDER = existsSync(IN_MEMORY) && hasRoom(IN_MEMORY) ? IN_MEMORY : tmpdir()

function hasRoom(folder: string): boolean {
  const { bavail, bsize } = statfsSync(folder)
  return Math.min(bavail * bsize, process.availableMemory()) >= MINIMUM_BYTES
}
