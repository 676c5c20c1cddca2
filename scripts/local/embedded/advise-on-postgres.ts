/** The messages of PostgreSQL on a machine that lacks something, each with what helps. */
const ADVICE: [said: RegExp, advice: string][] = [
  [
    /could not resize shared memory segment/,
    '/dev/shm is too small. Give it 64 MiB, in Docker with --shm-size=64m, or set DATABASE_URL.',
  ],
  [
    /could not look up effective user ID \d+/,
    'the user of this process has no name. Start as a user that /etc/passwd names, or set DATABASE_URL.',
  ],
  [
    /No space left on device|Check free disk space/,
    'the file system of DATA_DIR is full. Free some space, or set DATA_DIR to another folder.',
  ],
]

/** The fault of the machine in what PostgreSQL has written, with what helps; undefined when it is none of the known ones. */
export const adviseOnPostgres = (said: string): string | undefined =>
  ADVICE.find(([pattern]) => pattern.test(said))?.[1]
