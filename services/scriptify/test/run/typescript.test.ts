import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Ended, runInProcess } from '../run-in-process.ts'

/** A project with these files. */
function aProject(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'scriptify-typescript-'))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  return folder
}

const run = (folder: string, ...words: string[]) =>
  runInProcess(['run', '--rootdir', folder, '--print', ...words], { env: process.env, cwd: folder })

/** Runs code in a terminal of the project. */
const type = (folder: string, code: string): Promise<Ended> =>
  runInProcess(['terminal', '--runtime', 'node', '--rootdir', folder, '--execute', code], {
    env: process.env,
  })

const MODULE = { 'package.json': '{"type": "module"}' }
const ALIASES = { 'tsconfig.json': '{"compilerOptions": {"paths": {"@/*": ["./src/*"]}}}' }
const HINT = 'install tsx in the project (npm install --save-dev tsx)'

const JOB = `
interface Unused { a: string }
/** The sizes. */
export enum Size { Small = 'S', Large = 'L' }
enum Level { Low, High = 7, Higher }
namespace Deep { export const answer = 40 }
export class Job {
  constructor(private readonly base: number = Deep.answer) {}
  /** Adds. */
  add(a: number, size: Size = Size.Large, level: Level = Level.Low) { return [this.base + a, size, level] }
  fail() { throw new TypeError('wrong') }
}`

describe.concurrent('TypeScript with more than types', () => {
  it.each([
    { why: 'of a module', files: { ...MODULE, 'src/job.ts': JOB } },
    { why: 'of a project without a module type', files: { 'package.json': '{}', 'src/job.ts': JOB } },
  ])('$why runs with enums, namespaces and parameter properties', async ({ files }) => {
    const folder = aProject(files)
    const add = (...words: string[]) => run(folder, 'src/job.ts#Job::add', ...words)
    expect(await add('--arg', '2')).toEqual({ code: 0, stdout: '[42,"L",0]\n', stderr: '' })
    for (const level of ['8', 'Higher']) {
      expect((await add('--arg', '2', '--arg', 'S', '--arg', level)).stdout).toBe('[42,"S",8]\n')
    }
    expect(await add('--arg', '2', '--arg', 'XL')).toMatchObject({
      code: 2,
      stderr: 'Argument 2, "XL", does not fit <size: Size = Size.Large>: give S, L\n',
    })
    expect((await run(folder, 'src/job.ts#Job::add', '--showdocs')).stdout).toContain(
      "Adds.\n\nUsage: scriptify run 'src/job.ts#Job::add' --arg <a: number> ",
    )
    expect(await run(folder, 'src/job.ts#Job::fail')).toMatchObject({
      code: 1,
      stderr: 'TypeError: wrong (src/job.ts:11) (more: --trace)\n',
    })
    const typed = await type(
      folder,
      'import { Job, Size } from "./src/job.ts"; new Job(1).add(2, Size.Small)',
    )
    expect(typed).toEqual({ code: 0, stdout: "[ 3, 'S', 0 ]\n", stderr: '' })
    expect((await type(folder, 'import { Job } from "./src/job.ts"; new Job().fail()')).stderr).toMatch(
      /^TypeError: wrong \(src\/job\.ts:11\)\n {4}at Job\.fail \(src\/job\.ts:11:18\)\n/,
    )
  })

  it.each([
    {
      why: 'a decorator',
      source: 'const nothing = (f: any, _: any) => f\nexport class A {\n  @nothing\n  f() { return 1 }\n}',
      says: `src/a.ts:3 has a decorator, which Node does not run: ${HINT}`,
    },
    {
      why: 'an accessor field',
      source: 'export class A {\n  accessor size = 3\n  f() { return 1 }\n}',
      says: `src/a.ts:2 has an accessor field, which Node does not run: ${HINT}`,
    },
    {
      why: 'an import without its extension',
      source: "// first\nimport { b } from './b'\nexport class A { f() { return b } }",
      says: `src/a.ts:2 imports "./b": write "./b.ts", or ${HINT}`,
    },
    {
      why: 'an import of the compiled file',
      source: "import { b } from './b.js'\nexport class A { f() { return b } }",
      says: `src/a.ts:1 imports "./b.js": write "./b.ts", or ${HINT}`,
    },
    {
      why: 'an import of a folder',
      source: "import { c } from './c'\nexport class A { f() { return c } }",
      says: `src/a.ts:1 imports "./c": write "./c/index.ts", or ${HINT}`,
    },
    {
      why: 'an alias of tsconfig.json',
      source: "import { b } from '@/b'\nexport class A { f() { return b } }",
      says: `src/a.ts:1 imports "@/b": name the file by its path, or ${HINT}`,
    },
  ])('is told in one line what to change about $why, in a terminal too', async ({ source, says }) => {
    const folder = aProject({
      ...MODULE,
      ...ALIASES,
      'src/a.ts': source,
      'src/b.ts': 'export const b = 1',
      'src/c/index.ts': 'export const c = 1',
      'src/first.ts': "export { A } from './a.ts'",
    })
    const ended = await run(folder, 'src/first.ts#A::f')
    expect(ended).toEqual({
      ...{ code: 1, stdout: '' },
      stderr: `The module ${folder}/src/first.ts failed: ${says}\n`,
    })
    const typed = await type(folder, 'import { A } from "./src/first.ts"; new A().f()')
    expect(typed).toEqual({ code: 1, stdout: '', stderr: `Error: ${says}\n` })
  })

  it('typed at a terminal is told the same', async () => {
    const folder = aProject({ ...MODULE, ...ALIASES, 'src/b.ts': 'export const b = 1' })
    const stderrOf = async (code: string) => (await type(folder, code)).stderr
    expect(await stderrOf('class A { accessor x = 1 }')).toBe(
      `Error: [script].ts:1 has an accessor field, which Node does not run: ${HINT}\n`,
    )
    expect(await stderrOf('import { b } from "./src/b"')).toBe(
      `Error: "./src/b": write "./src/b.ts", or ${HINT}\n`,
    )
    expect(await stderrOf('import { b } from "@/b"')).toBe(
      `Error: "@/b": name the file by its path, or ${HINT}\n`,
    )
  })

  it('is left to the project’s tsx where it is installed', async () => {
    const folder = aProject({
      ...MODULE,
      'src/a.ts': "import { b } from './b'\nexport class A { f() { return b } }",
      'src/b.ts': 'export const b = 1',
      'node_modules/tsx/package.json': '{"exports": {".": "./loader.mjs"}}',
      'node_modules/tsx/loader.mjs': `import { registerHooks } from 'node:module'
        registerHooks({ resolve: (name, context, next) => next(name === './b' ? './b.ts' : name, context) })`,
    })
    expect(await run(folder, 'src/a.ts#A::f')).toEqual({ code: 0, stdout: '1\n', stderr: '' })
    const typed = await type(folder, 'import { A } from "./src/a.ts"; new A().f()')
    expect(typed).toEqual({ code: 0, stdout: '1\n', stderr: '' })
  })

  it('may import JSON', async () => {
    const folder = aProject({
      ...MODULE,
      'src/a.ts': `import data from '../package.json' with { type: 'json' }\nexport const f = () => data.type`,
    })
    expect((await run(folder, 'src/a.ts#f')).stdout).toBe('"module"\n')
    const typed = await type(folder, 'import data from "./package.json" with { type: "json" }; data')
    expect(typed).toEqual({ code: 0, stdout: "{ type: 'module' }\n", stderr: '' })
  })
})
