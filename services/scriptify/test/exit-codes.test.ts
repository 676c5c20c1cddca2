import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startLanguage } from './run/language.ts'
import { runInProcess } from './run-in-process.ts'
import { ROOT } from './terminal-docker.ts'

const PROJECT = join(import.meta.dirname, 'run/node')
const TERMINAL_WITHOUT_ROOT = 'scriptify_without_root terminal --runtime node --no-preload'
const CLOSED_FOLDER = 'd=$(mktemp -d) && chmod 0 $d && scriptify_without_root terminal --rootdir $d -x 1'
const CLOSED_FILE = 'f=$(mktemp --suffix .ts) && chmod 0 $f &&'
const method = (name: string, ...args: string[]) => [
  ...['run', '--rootdir', PROJECT, `src/probe.ts#Probe::${name}`],
  ...args,
]

const terminal = (...args: string[]) => [
  ...['terminal', '--runtime', 'node', '--no-preload', '--rootdir', PROJECT],
  ...args,
]

/** Words of the command line, or a command of sh for another user. */
interface Case {
  code: number
  command: string | string[]
  env?: Record<string, string>
  input?: string
}

/** The cases of each row of the table: from a pipe, from -x, from `run` and from a daemon. */
const casesOf = (server: string): Record<string, Case[]> => ({
  '0': [
    { code: 0, command: terminal(), input: '1' },
    { code: 0, command: method('still') },
    { code: 0, command: method('leave', '--arg', '0', '--daemon') },
  ],
  '1': [
    { code: 1, command: terminal(), input: 'throw 1' },
    { code: 1, command: terminal('-x', 'Promise.reject(1)') },
    { code: 1, command: terminal('-x', '1'), env: { SCRIPTIFY_BOOTLOADER: 'throwing.ts' } },
    { code: 1, command: method('forget') },
    { code: 1, command: method('forget', '--daemon') },
  ],
  '2': [
    { code: 2, command: terminal('--nope') },
    { code: 2, command: method('still'), env: { SCRIPTIFY_BOOTLOADER: '../php/bootstrap.php' } },
  ],
  '3': [
    { code: 3, command: terminal('-x', '1'), env: { SCRIPTIFY_BOOTLOADER: 'nope.ts' } },
    { code: 3, command: method('still'), env: { SCRIPTIFY_BOOTLOADER: 'nope.ts' } },
  ],
  '4': [
    { code: 4, command: ['run', '/etc/nope.ts#run'] },
    { code: 4, command: ['status', 'nope'] },
    { code: 4, command: CLOSED_FOLDER },
    { code: 4, command: `${CLOSED_FILE} SCRIPTIFY_BOOTLOADER=$f ${TERMINAL_WITHOUT_ROOT} -x 1` },
    { code: 4, command: `${CLOSED_FILE} scriptify_without_root terminal --preload $f -x 1` },
  ],
  '5': [
    { code: 5, command: ['terminal', '--runtime', 'php', '-x', '1'], env: { SCRIPTIFY_PHP_BINARY: '/nope' } },
  ],
  '124': [{ code: 124, command: method('forever', '--timeout', '100ms') }],
  '128 + n': [{ code: 143, command: method('dieBy', '--arg', '15') }],
  '7': [{ code: 7, command: ['endpoint', 'GET', 'http://127.0.0.1:1/'] }],
  '22': [{ code: 22, command: ['endpoint', 'GET', `${server}/missing`] }],
  '28': [{ code: 28, command: ['endpoint', 'GET', `${server}/silent`, '--timeout', '50ms'] }],
})

/** The codes of the documented table, each once: those of `status` have two rows. */
function documentedCodes(): string[] {
  const page = readFileSync(join(ROOT, 'docs/reference/exit-codes.md'), 'utf8')
  const [, table = ''] = page.split('## scriptify')
  const rows = [...table.matchAll(/^\| (\d[^|]*) \|/gm)]
  const codes = rows.flatMap(([, codes = '']) => codes.split(', '))
  return [...new Set(codes)]
}

it('ends as the table of the documentation says', async () => {
  await using server = createServer((request, response) => {
    if (request.url === '/missing') response.writeHead(404).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port')
  const rows = casesOf(`http://127.0.0.1:${address.port}`)
  expect(Object.keys(rows).sort()).toEqual(documentedCodes().sort())

  const { sh } = await startLanguage('node')
  const run = ({ command, env, input = '' }: Case) =>
    typeof command === 'string'
      ? sh(`${command} >/dev/null`)
      : runInProcess(command, { env: { ...process.env, ...env }, cwd: PROJECT, input })
  const cases = Object.values(rows).flat()
  const ended = await Promise.all(cases.map(async (each) => ({ ...each, code: (await run(each)).code })))
  expect(ended).toEqual(cases)
})
