import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { listClasses } from '../../src/classes/node/find-module.ts'
import { resolveCall } from '../../src/run/resolve-call.ts'
import { runInProcess } from '../run-in-process.ts'
import { type Language, languages, startLanguage } from './language.ts'

/** A project with these files, each empty or with its content. */
function aProject(files: Record<string, string>): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'scriptify-project-')))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  return folder
}

/** A folder on the machine of the language, which may be a container; of this test alone. */
function aFolder(): string {
  const folder = `/tmp/scriptify-root-only-${randomUUID()}`
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const resolve = async (text: string, options: { rootdir: string; runtime?: 'php' | 'node' }) =>
  (await resolveCall(text, { args: [], ...options }, {})).reference

const AUTOLOADER = { 'vendor/autoload.php': '' }
const MAPPED = { 'scriptify.config.json': '{"namespaces": {"App\\\\": "src", "App\\\\Jobs\\\\": "jobs"}}' }

describe('a reference', () => {
  it.each(['App\\Job::run', '\\App\\Job::run', '\\\\App\\\\Job::run', 'App\\\\Job::run'])(
    'is php as %s',
    async (text) => {
      const rootdir = aProject({ 'composer.json': '{}', ...AUTOLOADER })
      expect(await resolve(text, { rootdir })).toEqual({
        runtime: 'php',
        className: 'App\\Job',
        method: 'run',
        text,
      })
    },
  )

  it.each([
    { text: 'App\\Job::run', file: 'src/Job.ts', exported: 'Job' },
    { text: '\\App\\Mail\\SendAll::run', file: 'src/mail/send-all.mts', exported: 'SendAll' },
    { text: 'App\\Jobs\\Nightly::run', file: 'jobs/nightly.js', exported: 'Nightly' },
    { text: 'App\\Jobs\\Old::run', file: 'src/Jobs/Old.ts', exported: 'Old' },
  ])('$text is found in $file', async ({ text, file, exported }) => {
    const rootdir = aProject({ ...MAPPED, [file]: '' })
    expect(await resolve(text, { rootdir })).toMatchObject({
      runtime: 'node',
      module: `${rootdir}/${file}`,
      className: exported,
    })
  })

  it.each([
    { text: 'src/a.ts#Job::run', className: 'Job', method: 'run' },
    { text: './src/a.ts#default::run', className: 'default', method: 'run' },
    { text: 'src/a.ts#send', className: undefined, method: 'send' },
    { text: 'src/a.ts#Job::#hidden', className: 'Job', method: '#hidden' },
    { text: 'src/../src/a.ts#$x', className: undefined, method: '$x' },
  ])('$text is a module', async ({ text, className, method }) => {
    const rootdir = aProject({ 'composer.json': '{}', 'src/a.ts': '' })
    const module = `${rootdir}/src/a.ts`
    expect(await resolve(text, { rootdir })).toEqual({ runtime: 'node', module, className, method, text })
  })

  it('is found by a prefix without its backslash, and listed as it is found', async () => {
    const map = '{"namespaces": {"App": "src", "App\\\\": "jobs"}}'
    const rootdir = aProject({ 'scriptify.config.json': map, 'src/Job.ts': '', 'jobs/Nightly.ts': '' })
    expect(listClasses(rootdir)).toEqual(['App\\Job', 'App\\Nightly'])
    expect((await resolve('App\\Job::run', { rootdir })).module).toBe(`${rootdir}/src/Job.ts`)
    await expect(resolve('AppJob::run', { rootdir })).rejects.toMatchObject({
      message: expect.stringContaining('(did you mean App\\Job? Quote it'),
    })
  })

  it('prefers scriptify.config.json over package.json', async () => {
    const manifest = (folder: string) => `{"scriptify": {"namespaces": {"": "${folder}"}}}`
    const files = { 'one/Job.ts': '', 'two/Job.ts': '', 'package.json': manifest('one') }
    const one = aProject(files)
    expect((await resolve('Job::run', { rootdir: one })).module).toBe(`${one}/one/Job.ts`)
    const two = aProject({ ...files, 'scriptify.config.json': '{"namespaces": {"": "two"}}' })
    expect((await resolve('Job::run', { rootdir: two })).module).toBe(`${two}/two/Job.ts`)
  })

  it('is looked for in every folder of its prefix, and refused where two have it', async () => {
    const rootdir = aProject({
      'package.json': '{"scriptify": {"namespaces": {"": ["admin/", "extensions/*/admin/"]}}}',
      'admin/users.ts': '',
      'extensions/notes/admin/notes.ts': '',
      'extensions/notes/admin/tags.ts': '',
      'extensions/plain/routes.ts': '',
      'extensions/tags/admin/Tags.ts': '',
      'extensions/tags/admin/users.ts': '',
    })
    expect((await resolve('Notes::list', { rootdir })).module).toBe(
      `${rootdir}/extensions/notes/admin/notes.ts`,
    )
    await expect(resolve('Users::list', { rootdir })).rejects.toMatchObject({
      exitCode: 2,
      message: 'The class Users exists in admin/users.ts and extensions/tags/admin/users.ts; rename one',
    })
    await expect(resolve('Tags::list', { rootdir })).rejects.toMatchObject({
      message: expect.stringContaining('extensions/notes/admin/tags.ts and extensions/tags/admin/Tags.ts'),
    })
    await expect(resolve('None::list', { rootdir })).rejects.toMatchObject({
      exitCode: 3,
      message: expect.stringContaining('admin/None.{ts,mts,js,mjs}, admin/none.{ts'),
    })
  })

  it('that could be of either language wants --runtime', async () => {
    const rootdir = aProject({ ...MAPPED, ...AUTOLOADER, 'composer.json': '{}', 'src/Job.ts': '' })
    await expect(resolve('App\\Job::run', { rootdir })).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('--runtime'),
    })
    expect((await resolve('App\\Job::run', { rootdir, runtime: 'php' })).runtime).toBe('php')
    expect((await resolve('App\\Job::run', { rootdir, runtime: 'node' })).runtime).toBe('node')
    // No module of that name: nothing to choose.
    expect((await resolve('App\\Other::run', { rootdir })).runtime).toBe('php')
  })

  it('that node cannot find is not said to want what the project has', async () => {
    const rootdir = aProject({ 'composer.json': '{}' })
    await expect(resolve('App\\Job::run', { rootdir, runtime: 'node' })).rejects.toMatchObject({
      exitCode: 3,
      message: `Could not locate App\\Job: ${rootdir} has no scriptify.namespaces for it`,
    })
  })

  it.each([
    { why: 'a missing module', text: 'src/none.ts#run', code: 3, says: 'src/none.ts' },
    { why: 'a class of no module', text: 'App\\None::run', code: 3, says: 'src/None.{ts,mts,js,mjs}' },
    { why: 'a mistyped class', text: 'App\\Reprot::run', code: 3, says: '(did you mean App\\Report?)' },
    {
      why: 'a class without its namespace',
      text: 'Reprt::run',
      code: 3,
      says: '(did you mean App\\Report?)',
    },
    { why: 'a class whose backslash the shell removed', text: 'AppReport::run', code: 3, says: 'Quote it' },
    { why: 'a class of no namespace', text: 'Other\\None::run', code: 3, says: 'no scriptify.namespaces' },
    {
      why: 'a module without an export',
      text: 'src/a.ts',
      code: 2,
      says: 'is not a method reference: name what the module exports, src/a.ts#Class::method or src/a.ts#function',
    },
    { why: 'a module with a method only', text: 'src/a.ts::run', code: 2, says: ', src/a.ts#Class::run or ' },
    {
      why: 'a module with an empty export',
      text: 'src/a.ts#',
      code: 2,
      says: 'is not a method reference: give',
    },
    {
      why: 'a module as php',
      text: 'src/a.ts#run',
      runtime: 'php' as const,
      code: 2,
      says: '--runtime says php',
    },
    { why: 'a module outside', text: '/etc/passwd#run', code: 4, says: '--rootdir' },
    { why: 'a link to outside', text: 'link.ts#run', code: 4, says: '--rootdir' },
    { why: 'a way outside', text: '../../etc/passwd#run', code: 4, says: '--rootdir' },
    { why: 'what is not there, outside', text: '/nowhere/at-all.ts#run', code: 4, says: '--rootdir' },
    {
      why: 'php without a bootstrap',
      text: 'A::b',
      runtime: 'php' as const,
      code: 3,
      says: 'vendor/autoload.php',
    },
  ])('refuses $why with $code', async ({ text, code, says, runtime }) => {
    const rootdir = aProject({ ...MAPPED, 'src/a.ts': '', 'src/report.ts': '' })
    symlinkSync('/etc/passwd', join(rootdir, 'link.ts'))
    await expect(resolve(text, { rootdir, ...(runtime ? { runtime } : {}) })).rejects.toMatchObject({
      exitCode: code,
      message: expect.stringContaining(says),
    })
  })

  it.each(['{', '{"namespaces": {"A": 1}}'])('is not looked for by the map %s', async (map) => {
    const rootdir = aProject({ 'scriptify.config.json': map })
    await expect(resolve('A::b', { rootdir })).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('scriptify.config.json'),
    })
  })
})

describe.concurrent('php that is not there', () => {
  it.each([
    { why: 'missing', php: '', says: 'not found' },
    { why: 'older than 8.3', php: `printf '/usr/bin/php\\t8.2.29\\t80229\\n'`, says: 'is PHP 8.2.29' },
    { why: 'no php', php: 'echo hello', says: 'unknown version' },
    { why: 'failing', php: 'exit 9', says: 'Could not run' },
  ])('because it is $why is said with what to install', async ({ php, says }) => {
    const rootdir = aProject({ 'bootstrap.ts': '' })
    const binary = join(rootdir, 'php')
    if (php !== '') writeFileSync(binary, `#!/bin/sh\n${php}\n`, { mode: 0o755 })
    const args = ['run', '--rootdir', rootdir, '--bootstrap', 'bootstrap.ts', '--runtime', 'php', 'A::b']
    const ended = await runInProcess(args, { env: { SCRIPTIFY_PHP_BINARY: binary } })
    expect(ended).toMatchObject({ code: 5, stdout: '' })
    expect(ended.stderr).toMatch(/^[^\n]+\n$/)
    expect(ended.stderr).toContain(says)
    expect(ended.stderr).toContain('install PHP 8.3 or newer')
  })
})

it('names the other language where nothing has chosen php', async () => {
  const env = { SCRIPTIFY_PHP_BINARY: '/nowhere/php' }
  const terminal = (files: Record<string, string>, ...words: string[]) =>
    runInProcess(['terminal', '--rootdir', aProject(files), '-x', '1', ...words], { env })
  const hint = ', or choose --runtime node\n'
  expect(await terminal({ 'x.txt': '' })).toMatchObject({
    code: 5,
    stderr: expect.stringMatching(`${hint}$`),
  })
  for (const ended of [await terminal({ 'composer.json': '{}' }), await terminal({}, '--runtime', 'php')])
    expect(ended).toMatchObject({ code: 5, stderr: expect.not.stringContaining(hint) })
})

describe.each(languages)('the check of install in $name', ({ name, isThere }) => {
  let language: Language
  beforeAll(async () => {
    if (isThere) language = await startLanguage(name)
  })

  const check = async (reference: string, { rootdir = '.', uid = '', before = '' } = {}) => {
    const loader = name === 'php' ? 'SCRIPTIFY_BOOTLOADER=bootstrap.php ' : ''
    const { stdout } = await language.sh(
      `${before}\n${loader}node_script run/check-method.ts ${rootdir} '${reference}' ${uid}`,
    )
    return stdout
  }

  it.skipIf(!isThere)('finds what is there, and constructs nothing', async () => {
    expect(await check('\\App\\Probe::still')).toBe('fine\n')
    expect(await check('\\App\\Probe::where', { before: 'export SHOW_CONSTRUCTOR=1' })).toBe('fine\n')
  })

  it.skipIf(!isThere).each([
    { reference: '\\App\\Nope::run', says: /^3 .*App\\Nope/ },
    { reference: '\\App\\Probe::nope', says: /^3 .*no method nope/ },
    { reference: '\\App\\Probe::add', says: /^2 .*takes 1 to 2 arguments, not 0/ },
    { reference: '\\App\\Leaving::run', says: /^1 .*ended the process/ },
  ])('says of $reference what run would', async ({ reference, says }) => {
    expect(await check(reference)).toMatch(says)
  })

  it.skipIf(!isThere || process.getuid?.() !== 0)('has the rights of the user that it is for', async () => {
    const secret = aFolder()
    const before = `rm -rf ${secret}; mkdir -m 755 ${secret}; cp -r . ${secret}/p; chmod -R go-rwx ${secret}/p/src; chmod 755 ${secret}/p`
    const rootdir = `${secret}/p`
    expect(await check('\\App\\Probe::still', { rootdir, before })).toBe('fine\n')
    expect(await check('\\App\\Probe::still', { rootdir, uid: '65534', before })).toMatch(
      name === 'php' ? /^[13] .*probe/i : /^4 The module \S+probe.ts may not be read by this user$/m,
    )
  })

  it.skipIf(!isThere || process.getuid?.() !== 0).each([
    { what: 'the folder', closed: '.', says: /^4 The root directory \S+ may not be entered by this user$/m },
    {
      what: 'the bootstrap',
      closed: 'bootstrap.*',
      says: /^4 The bootstrap \S+ may not be read by this user$/m,
    },
  ])('ends with 4 where $what is not for that user', async ({ closed, says }) => {
    const rootdir = aFolder()
    const before = `rm -rf ${rootdir}; cp -r . ${rootdir}; chmod go-rwx ${rootdir}/${closed}
      export SCRIPTIFY_BOOTLOADER=bootstrap.${name === 'php' ? 'php' : 'ts'}`
    expect(await check('\\App\\Probe::still', { rootdir, uid: '65534', before })).toMatch(says)
  })
})
