import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startLanguage } from './run/language.ts'
import { ROOT } from './terminal-docker.ts'

const TERMINAL = 'scriptify terminal --runtime node --no-preload'
const RUN = 'scriptify run src/probe.ts#Probe::'

/** Commands of sh for each row of the table: from a pipe, from -x, from `run` and from a daemon. */
const commandsOf = (server: string): Record<string, { code: number; command: string }[]> => ({
  '0': [
    { code: 0, command: `echo 1 | ${TERMINAL}` },
    { code: 0, command: `${RUN}still` },
    { code: 0, command: `${RUN}leave --arg 0 --daemon` },
  ],
  '1': [
    { code: 1, command: `echo 'throw 1' | ${TERMINAL}` },
    { code: 1, command: `${TERMINAL} -x 'Promise.reject(1)'` },
    { code: 1, command: `SCRIPTIFY_BOOTLOADER=throwing.ts ${TERMINAL} -x 1` },
    { code: 1, command: `${RUN}forget` },
    { code: 1, command: `${RUN}forget --daemon` },
    { code: 1, command: `${RUN}forget --daemon --keep-going` },
  ],
  '2': [
    { code: 2, command: `${TERMINAL} --nope` },
    { code: 2, command: `SCRIPTIFY_BOOTLOADER=../php/bootstrap.php ${RUN}still` },
  ],
  '3': [
    { code: 3, command: `SCRIPTIFY_BOOTLOADER=nope.ts ${TERMINAL} -x 1` },
    { code: 3, command: `SCRIPTIFY_BOOTLOADER=nope.ts ${RUN}still` },
  ],
  '4': [{ code: 4, command: 'scriptify run /etc/nope.ts#run' }],
  '5': [{ code: 5, command: 'SCRIPTIFY_PHP_BINARY=/nope scriptify terminal --runtime php -x 1' }],
  '128 + n': [{ code: 143, command: `${RUN}dieBy --arg 15` }],
  '7': [{ code: 7, command: 'scriptify endpoint GET http://127.0.0.1:1/' }],
  '22': [{ code: 22, command: `scriptify endpoint GET ${server}/missing` }],
  '28': [{ code: 28, command: `scriptify endpoint GET ${server}/silent --timeout 50ms` }],
})

/** The codes of the documented table. */
function documentedCodes(): string[] {
  const page = readFileSync(join(ROOT, 'docs/reference/exit-codes.md'), 'utf8')
  const [, table = ''] = page.split('## scriptify')
  return [...table.matchAll(/^\| (\d[^|]*) \|/gm)].flatMap(([, codes = '']) => codes.split(', '))
}

it('ends as the table of the documentation says', async () => {
  await using server = createServer((request, response) => {
    if (request.url === '/missing') response.writeHead(404).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port')
  const rows = commandsOf(`http://127.0.0.1:${address.port}`)
  expect(Object.keys(rows).sort()).toEqual(documentedCodes().sort())

  const cases = Object.values(rows).flat()
  const { sh } = await startLanguage('node')
  const ended = await sh(cases.map(({ command }) => `${command} >/dev/null; echo $?`).join('\n'))
  const codes = ended.stdout.trim().split('\n').map(Number)
  expect(
    cases.map(({ command }, index) => ({ code: codes[index], command })),
    ended.stderr,
  ).toEqual(cases)
})
