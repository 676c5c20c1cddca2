import { spawnSync } from 'node:child_process'
import {
  chmod,
  link,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  rename,
  stat,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { type FileOperations, type Replacement, removeLeftovers, replaceFiles } from './replace-files.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'scriptify-files-'))
})

/** Two existing files and a new one. */
async function threeFiles(): Promise<Replacement[]> {
  const names = ['one.env', 'two.run', 'three.service']
  for (const name of names.slice(0, 2)) {
    await writeFile(join(folder, name), `old ${name}`)
    await chmod(join(folder, name), 0o640)
  }
  return Promise.all(
    names.map(async (name, index) => {
      const path = join(folder, name)
      const existing = index < 2 ? await stat(path) : undefined
      return { path, mode: 0o600, content: `new ${name}`, existing }
    }),
  )
}

const contents = async () =>
  Object.fromEntries(
    await Promise.all(
      (await readdir(folder))
        .sort()
        .map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const),
    ),
  )

const AFTER = { 'one.env': 'new one.env', 'three.service': 'new three.service', 'two.run': 'new two.run' }
const BEFORE = { 'one.env': 'old one.env', 'two.run': 'old two.run' }

describe('replaceFiles', () => {
  it('writes every file with its mode and leaves nothing beside them', async () => {
    await replaceFiles(await threeFiles())
    expect(await contents()).toEqual(AFTER)
    for (const name of Object.keys(AFTER)) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600)
  })

  it('keeps a link or a file that appears at a free path in between', async () => {
    const outside = join(await mkdtemp(join(tmpdir(), 'scriptify-outside-')), 'target')
    const files = await threeFiles()
    await symlink(outside, join(folder, 'three.service'))
    await expect(replaceFiles(files)).rejects.toThrow('EEXIST')
    expect(await readlink(join(folder, 'three.service'))).toBe(outside)
    await unlink(join(folder, 'three.service'))
    expect(await contents()).toEqual(BEFORE)

    await writeFile(join(folder, 'three.service'), 'theirs')
    await expect(replaceFiles(files)).rejects.toThrow('EEXIST')
    expect(await contents()).toEqual({ ...BEFORE, 'three.service': 'theirs' })
  })

  it('restores the previous files, whichever step fails', async () => {
    let calls = 0
    for (let failing = 1; ; failing++) {
      const files = await threeFiles()
      calls = 0
      const fails = () => {
        calls += 1
        if (calls === failing) throw new Error('No space left on device')
      }
      const outcome = await replaceFiles(files, undefined, faulty(fails)).then(
        () => 'done',
        (error: Error) => error.message,
      )
      if (calls < failing) break
      expect(outcome).toBe('No space left on device')
      expect(await contents(), `step ${failing}`).toEqual(BEFORE)
      expect((await stat(join(folder, 'one.env'))).mode & 0o777).toBe(0o640)
    }
    // Three files staged, two kept, three renamed, the folder flushed.
    expect(calls).toBeGreaterThanOrEqual(9)
  })

  it('restores the previous files when confirm fails', async () => {
    const files = await threeFiles()
    const confirm = async () => {
      expect(await contents()).toMatchObject(AFTER)
      throw new Error('Failed to reload')
    }
    await expect(replaceFiles(files, confirm)).rejects.toThrow('Failed to reload')
    expect(await contents()).toEqual(BEFORE)
    expect((await stat(join(folder, 'one.env'))).mode & 0o777).toBe(0o640)
  })

  it('removes leftovers that another process removes at the same time', async () => {
    const paths = ['a', 'b', 'c', 'd'].map((name) => join(folder, name))
    const left = paths.map((path) => join(folder, `.${basename(path)}.scriptify-0123456789ab.new`))
    await Promise.all(left.map((path) => writeFile(path, '')))
    // Each has listed all files before the first one is removed.
    await Promise.all(paths.map(() => removeLeftovers(paths)))
    expect((await readdir(folder)).filter((name) => name.includes('.scriptify-'))).toEqual([])
  })

  it('leaves each file old or new when it is killed, and leftovers that can be removed', async () => {
    const module = new URL('replace-files.ts', import.meta.url).href
    let survived = false
    for (let step = 1; !survived; step++) {
      const files = await threeFiles()
      const script = `
        import * as fs from 'node:fs/promises'
        import { replaceFiles } from ${JSON.stringify(module)}
        let calls = 0
        const dying = (name) => async (...args) => {
          if (++calls === ${step}) process.kill(process.pid, 'SIGKILL')
          return fs[name](...args)
        }
        await replaceFiles(${JSON.stringify(files)}, undefined, Object.fromEntries(['link', 'open', 'rename', 'unlink'].map((name) => [name, dying(name)])))`
      const { signal, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
        encoding: 'utf8',
      })
      survived = signal === null
      if (survived) expect(status).toBe(0)
      const left = await removeLeftovers(files.map(({ path }) => path))
      expect(left.every((path) => path.includes('.scriptify-'))).toBe(true)
      for (const [name, content] of Object.entries(await contents())) {
        expect([`old ${name}`, `new ${name}`]).toContain(content)
      }
      await unlink(join(folder, 'three.service')).catch(() => undefined)
    }
  })
})

function faulty(fails: () => void): FileOperations {
  const guard =
    <Args extends unknown[], Result>(operation: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      fails()
      return operation(...args)
    }
  return { link: guard(link), open: guard(open) as typeof open, rename: guard(rename), unlink: guard(unlink) }
}
