import { chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const next = (name: string) => `next_${name}`
const previous = (name: string) => `previous_${name}`

/**
 * Secrets in a folder, one file each. One that is being replaced has a next or a previous one: `introduce` makes the next one
 * known, `switchTo` puts it into use, and `forget` ends the previous one. A killed step can be repeated.
 */
export function createKeptSecrets(folder: string) {
  const pathOf = (name: string) => join(folder, name)
  const find = (name: string) => readFileOrNone(pathOf(name))
  const write = (name: string, text: string) => writeFileWhole(pathOf(name), text)

  async function keep(name: string, generate: () => string): Promise<void> {
    if (!(await find(name))) await write(name, generate())
  }

  return {
    find,
    write,
    /** Generates the secret when it is missing. */
    keep,
    /** True where the next one is in use and the previous one is not forgotten. */
    isSwitched: async (name: string): Promise<boolean> =>
      Boolean(await find(previous(name))) && !(await find(next(name))),
    introduce: (name: string, generate: () => string) => keep(next(name), generate),
    async switchTo(name: string): Promise<void> {
      if (!(await find(next(name)))) return
      // The first key has none before it.
      if (await find(name)) await write(previous(name), await find(name))
      await rename(pathOf(next(name)), pathOf(name))
    },
    forget: (name: string) => rm(pathOf(previous(name)), { force: true }),
    /** Removes the next one and the previous one, which are not in use. */
    async abandon(name: string): Promise<void> {
      for (const each of [next(name), previous(name)]) await rm(pathOf(each), { force: true })
    },
    /** Removes a secret that another one has replaced. */
    async end(name: string): Promise<void> {
      for (const each of [name, next(name), previous(name)]) await rm(pathOf(each), { force: true })
    },
    /** The one that is to be used: the next one where it is known. */
    findNewest: async (name: string) => (await find(next(name))) || (await find(name)),
    /** The one that is valid beside the one in use. */
    findOther: async (name: string) => (await find(next(name))) || (await find(previous(name))),
  }
}

export async function readFileOrNone(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    // A secret that exists but cannot be read must not be replaced.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
}

/** Writes a file that only its owner can read; a killed run leaves no partial file. */
export async function writeFileWhole(path: string, text: string, owner?: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const unfinished = `${path}.new`
  await writeFile(unfinished, text, { mode: 0o400 })
  if (owner !== undefined) await chown(unfinished, owner, owner)
  await rename(unfinished, path)
}
