import { mkdtempDisposableSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, it } from 'vitest'
import { lastLogLine, printLogs } from './service-log.ts'
import { crond } from './systems/crond.ts'

const { path: folder, remove } = mkdtempDisposableSync(join(tmpdir(), 'scriptify-logs-'))
afterAll(remove)

const LOGS = {
  importer: `2026-11-28T03:00:00+0000 begins
2026-11-28T03:00:02+0000 Error: no connection
2026-11-28T03:00:02+0000     at Importer.work (src/importer.ts:3:1)
2026-11-28T04:00:00+0000 ends
`,
  // A machine whose zone has changed.
  mailer: '2026-11-28T04:30:00+0130 sent 1 mail\n2026-11-28T03:00:01+0000 SMTP timeout\n',
}

async function show(
  names: readonly (keyof typeof LOGS)[],
  options: Omit<Parameters<typeof printLogs>[1], 'follow'> = {},
): Promise<string[]> {
  const services = names.map((name) => {
    const file = join(folder, name)
    writeFileSync(file, LOGS[name])
    return { name, system: { ...crond, log: () => ({ file }) } }
  })
  const stdout = Object.assign(new PassThrough(), { isTTY: true })
  const shown = text(stdout)
  expect(await printLogs(services, { ...options, follow: false }, { env: {}, stdout })).toBe(0)
  stdout.end()
  return (await shown).split('\n').slice(0, -1)
}

it('has a last line, or none since a start that has written nothing', async () => {
  const file = join(folder, 'last')
  writeFileSync(file, LOGS.importer)
  const system = { ...crond, log: () => ({ file }) }
  const last = (since?: string) =>
    lastLogLine('importer', system, since === undefined ? undefined : Date.parse(since))
  expect(await last()).toBe('ends')
  expect(await last('2026-11-28T04:00:00Z')).toBe('ends')
  expect(await last('2026-11-28T04:00:01Z')).toBeUndefined()
})

describe('the logs of services', () => {
  it('are in the order of time, with the name of each', async () => {
    expect(await show(['importer', 'mailer'])).toEqual([
      '2026-11-28T03:00:00+0000 importer: begins',
      '2026-11-28T04:30:00+0130 mailer: sent 1 mail',
      '2026-11-28T03:00:01+0000 mailer: SMTP timeout',
      '2026-11-28T03:00:02+0000 importer: Error: no connection',
      '2026-11-28T03:00:02+0000 importer:     at Importer.work (src/importer.ts:3:1)',
      '2026-11-28T04:00:00+0000 importer: ends',
    ])
  })

  it.each([
    { why: 'the last lines', options: { lines: 1 }, shown: ['2026-11-28T04:00:00+0000 ends'] },
    {
      why: 'lines since a time',
      options: { since: new Date('2026-11-28T03:30:00Z') },
      shown: ['2026-11-28T04:00:00+0000 ends'],
    },
    {
      why: 'lines that match, not their times',
      options: { grep: /no|28/u },
      shown: ['2026-11-28T03:00:02+0000 Error: no connection'],
    },
    {
      why: 'the last lines that match',
      options: { grep: /s$/u, lines: 1 },
      shown: ['2026-11-28T04:00:00+0000 ends'],
    },
    {
      why: 'lines since a time that match',
      options: { grep: /./u, since: new Date('2026-11-28T03:00:01Z'), lines: 2 },
      shown: [
        '2026-11-28T03:00:02+0000     at Importer.work (src/importer.ts:3:1)',
        '2026-11-28T04:00:00+0000 ends',
      ],
    },
    { why: 'nothing', options: { grep: /nothing/u }, shown: [] },
  ])('show $why of one', async ({ options, shown }) => {
    expect(await show(['importer'], options)).toEqual(shown)
  })
})
