import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { runInProcess } from '../run-in-process.ts'
import { MAIN } from '../terminal-docker.ts'
import { startTypist } from '../terminal-pty.ts'
import { callHere, describeHere } from './call-here.ts'
import { type Language, startLanguage } from './language.ts'

/** A folder with these files, and nothing else. */
function aFolder(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'scriptify-node-'))
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  return folder
}

/** A command line in that folder. */
const runIn = (folder: string, [command = '', ...words]: string[], env: NodeJS.ProcessEnv = process.env) =>
  runInProcess([command, '--rootdir', folder, ...words], { env, cwd: folder })

describe.concurrent('a method in TypeScript', () => {
  let node: Language
  beforeAll(async () => {
    node = await startLanguage('node')
  })

  it('is awaited', async () => {
    const args = ['src/probe.ts#Probe::later', '--arg', 'x', '--print']
    expect(await node.run(args)).toEqual({ code: 0, stdout: '{"value":"x"}\n', stderr: '' })
  })

  it('may say what its `this` is, which no argument gives', async () => {
    const bound = ['src/typed.ts#Typed::bound', '--arg', '1', '--arg', '2']
    expect((await node.run([...bound, '--print'])).stdout).toBe('[2,"2"]\n')
    expect((await node.run([...bound, '--arg', '3'])).stderr).toMatch(
      /takes 2 arguments, not 3: --arg <one: number> --arg <two: string>\n$/,
    )
  })

  it('that never finishes is said so', async () => {
    const { code, stderr } = await node.run(['src/probe.ts#Probe::never'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^Probe::never never finished[^\n]*\n$/)
  })

  it('fails by a rejection that nobody handles', async () => {
    expect(await node.run(['src/probe.ts#Probe::forget'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'forgotten (more: --trace)\n',
    })
  })

  it('may be a function, or of the default class', async () => {
    const args = ['src/probe.ts#greet', '--arg', 'Ada', '--print']
    expect((await node.run(args)).stdout).toBe('"Hello, Ada"\n')
    expect((await node.run(['src/probe.ts#default::run'])).stdout).toBe('default\n')
  })

  it('is listed with those of a class that is named by its file, and is not called', async () => {
    const folder = aFolder({
      'package.json': '{"type": "module"}',
      'a.ts': `export class A { /** Ticks. */ static tick() { console.log("called") } }
               export const f = (): void => console.log("called")`,
    })
    for (const command of ['run', 'methods']) {
      const ended = await runIn(folder, [command, 'a.ts#A'])
      expect(ended).toMatchObject({ code: 0, stderr: '' })
      expect(ended.stdout.replace(`${folder}/`, '')).toBe('a.ts#A::tick  Ticks.\n')
    }
    const listed = await runIn(folder, ['methods', 'a.ts#A', '--json'])
    expect(JSON.parse(listed.stdout)).toEqual([{ reference: 'a.ts#A::tick', summary: 'Ticks.' }])
    for (const options of [[], ['--json']]) {
      const { code, stdout, stderr } = await runIn(folder, ['methods', 'a.ts#f', ...options])
      expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
      expect(stderr).toMatch(/^\S+a\.ts does not export a class f/)
    }
  })

  it('is listed as JSON however long its class takes to load', async () => {
    const folder = aFolder({
      'a.js': `await new Promise((resolve) => setTimeout(resolve, 5_500))
               export class A { static tick() {} }`,
    })
    const { stdout, stderr } = await runIn(folder, ['methods', 'a.js#A', '--json'])
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual([{ reference: 'a.js#A::tick', summary: '' }])
  })

  it('adds nothing about a project without a module type', async () => {
    const folder = aFolder({
      'package.json': '{"name": "plain"}',
      'a.ts': 'export const f = (x: string): string => x',
    })
    const ended = await runIn(folder, ['run', 'a.ts#f', '--arg', 'x', '--print'])
    expect(ended).toEqual({ code: 0, stdout: '"x"\n', stderr: '' })
  })

  it.each([
    { why: 'an empty HOME', env: { HOME: '', XDG_CACHE_HOME: '' } },
    { why: 'a folder for the cache that is relative', env: { XDG_CACHE_HOME: 'cache' } },
    { why: 'a HOME that is relative', env: { HOME: 'home', XDG_CACHE_HOME: '' } },
  ])('leaves nothing behind in the working directory with $why', async ({ env }) => {
    const folder = aFolder({ 'a.ts': 'export const f = (): number => 1' })
    const { NODE_COMPILE_CACHE: _, ...inherited } = process.env
    const ended = await runIn(folder, ['run', 'a.ts#f'], { ...inherited, ...env })
    expect(ended).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(readdirSync(folder)).toEqual(['a.ts'])
  })

  it.each([
    {
      why: 'what is no TypeScript',
      source: 'export const a = 1 nope',
      says: 'SyntaxError: Expected a semicolon (a (1).ts:1)',
    },
    {
      why: 'a mistake',
      source: 'export const a = 1\nnope()',
      says: 'ReferenceError: nope is not defined (a (1).ts:2) (more: --trace)',
    },
  ])('names the file with $why, and none of Node', async ({ source, says }) => {
    const folder = aFolder({ 'a (1).ts': source, 'b.ts': `import './a (1).ts'\nexport const f = () => 1` })
    const ended = await runIn(folder, ['run', 'b.ts#f'])
    expect(ended).toEqual({ code: 1, stdout: '', stderr: `The module ${folder}/b.ts failed: ${says}\n` })
  })

  it('may leave out what its type calls optional', async () => {
    expect((await node.run(['src/probe.ts#Probe::optional', '-a', 'x'])).stdout).toBe('x undefined\n')
    expect((await node.run(['src/probe.ts#Probe::optional'])).code).toBe(2)
  })

  it('finds the bootstrap loaded', async () => {
    const args = ['App\\Probe::env', '--arg', 'BOOTSTRAPPED']
    expect((await node.run(args)).stdout).toBe('unset\n')
    expect((await node.run([...args, '--bootstrap', 'bootstrap.ts'])).stdout).toBe('yes\n')
  })

  it.each([
    {
      why: 'a mistyped function',
      reference: 'src/probe.ts#gret',
      code: 3,
      says: 'exports no function gret (did you mean greet?)',
    },
    {
      why: 'a mistyped class',
      reference: 'src/probe.ts#Prbe::run',
      code: 3,
      says: 'does not export a class Prbe (did you mean Probe?)',
    },
    {
      why: 'an unknown class',
      reference: 'src/probe.ts#Nope::run',
      code: 3,
      says: 'does not export a class Nope',
    },
    {
      why: 'a function as a class',
      reference: 'src/probe.ts#greet::run',
      code: 3,
      says: 'does not export a class greet',
    },
    { why: 'what every object has', reference: 'src/probe.ts#Probe::toString', code: 3, says: 'no method' },
    {
      why: 'the constructor',
      reference: 'src/probe.ts#Probe::constructor',
      code: 3,
      says: 'cannot be called',
    },
    {
      why: 'a constructor with needs',
      reference: 'src/needy.ts#Needy::run',
      code: 2,
      says: 'cannot be constructed',
    },
  ])('refuses $why with $code', async ({ reference, code, says }) => {
    const ended = await node.call(reference, [])
    expect({ ...ended, stderr: '' }).toEqual({ code, stdout: '', stderr: '' })
    expect(ended.stderr).toMatch(/^[^\n]+\n$/)
    expect(ended.stderr).toContain(says)
  })

  it.each([
    'exported.ts#default::secret',
    'exported.ts#Listed::secret',
    'exported.ts#Other::secret',
    'exported.ts#Other::hidden',
    'exported.ts#Other::inherited',
    'exported.ts#Renamed::secret',
    'exported.ts#held::secret',
    'passed-on.ts#default::secret',
    'passed-on.ts#Again::secret',
  ])('is not called as %s, which is private where it is written', async (reference) => {
    const { code, stderr } = await node.call(`src/${reference}`, [])
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: `The method ${reference.split('#')[1]} is not public\n`,
    })
  })

  it.each([
    { reference: 'exported.ts#default::add', shows: 'Adds one.', parameter: 'one: number' },
    { reference: 'passed-on.ts#default::add', shows: 'Adds one.', parameter: 'one: number' },
    { reference: 'exported.ts#Other::handedDown', shows: 'Comes down.', parameter: 'word: string' },
    { reference: 'exported.ts#hello', shows: 'Greets.', parameter: 'name: string' },
  ])(
    'has the documentation of $reference from where it is written',
    async ({ reference, shows, parameter }) => {
      const { stdout } = await describeHere(node.project, `src/${reference}`)
      expect(stdout).toBe(`${shows}\n\nUsage: scriptify run 'src/${reference}' --arg <${parameter}>\n`)
    },
  )

  it('may come from a class of Node', async () => {
    const args = ['src/exported.ts#Renamed::emit', '--arg', 'news', '--print']
    expect(await node.run(args)).toEqual({ code: 0, stdout: 'false\n', stderr: '' })
  })

  it('as a daemon on a terminal finishes the call in progress on one Ctrl-C', async () => {
    const go = join(mkdtempSync(join(tmpdir(), 'scriptify-tty-')), 'go')
    const words = ['run', 'src/probe.ts#Probe::work', '--arg', go, '--daemon']
    const typist = startTypist(process.execPath, [MAIN, ...words], { prompt: /never/, cwd: node.project })
    await typist.see('begin')
    typist.type('\x03')
    // The terminal shows it when it sends the signal.
    await typist.see('^C')
    writeFileSync(go, '')
    await typist.see('end')
    expect(await typist.exited).toBe(0)
  })

  it.each([
    { type: 'keyof Opt', arg: 'a', prints: '"a"' },
    { type: "string & { readonly brand: 'id' }", arg: 'x1', prints: '"x1"' },
    { type: "'x' | (string & {})", arg: 'other', prints: '"other"' },
    { type: 'number & { readonly brand: 1 }', arg: '5', prints: '5' },
    { type: 'Opt & { b?: number }', arg: '{"a":1}', prints: '{"a":1}' },
    { type: 'Readonly<Opt>', arg: '{"a":1}', prints: '{"a":1}' },
    { type: 'Readonly<string[]>', arg: '["a"]', prints: '["a"]' },
    { type: 'z.Foo', arg: 'x', prints: '"x"' },
  ])('takes $arg for $type', async ({ type, arg, prints }) => {
    const folder = aFolder({
      'take.ts': `import type * as z from './z.ts'
        interface Opt { a: number }
        export default class { take(value: ${type}) { return value } }`,
    })
    const ended = await callHere(folder, 'take.ts#default::take', [arg])
    expect(ended).toEqual({ code: 0, stdout: `${prints}\n`, stderr: '' })
  })

  it('prints the entries of a map and the values of a set', async () => {
    const { stdout } = await node.run(['src/typed.ts#Typed::collections', '--print'])
    expect(stdout).toBe('[[["a",1]],[1,2]]\n')
  })

  it('has the documentation of a function', async () => {
    const { stdout } = await describeHere(node.project, 'src/probe.ts#greet')
    expect(stdout).toBe(
      "Usage: scriptify run 'src/probe.ts#greet' --arg <name: string> [--arg <greeting = 'Hello'>]\n",
    )
  })
})
