import { Writable } from 'node:stream'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { CliContext } from '../io/cli-context.ts'
import { exitCodeOf, formatStatus, printStatus, type ServiceStatus } from './service-status.ts'

const aService = (changes: Partial<ServiceStatus> = {}): ServiceStatus => ({
  name: 'importer',
  template: 'systemd',
  file: '/etc/systemd/system/importer.service',
  environment: '/etc/scriptify/importer.env',
  state: 'active',
  startsAtBoot: true,
  lastLogLine: undefined,
  ...changes,
})

afterEach(() => void vi.unstubAllEnvs())

describe('the table of services', () => {
  it('has a dash for what is not known, and shows no control character of a log', () => {
    vi.stubEnv('TZ', 'Asia/Kolkata')
    const facts = { uptimeSeconds: 7, restarts: 0, memoryBytes: 19_083_034, lastLogLine: 'a\x1b[2Jb\tc' }
    const runs = {
      lastRun: '2026-11-24T03:00:00.000Z',
      lastResult: 'exit-code',
      nextRun: '2026-11-25T03:00:00.000Z',
    }
    const services = [
      aService(facts),
      aService({ name: 'x', state: 'scheduled', startsAtBoot: 'unknown', ...runs }),
    ]
    expect(formatStatus(services, Number.POSITIVE_INFINITY)).toEqual([
      'NAME      TEMPLATE  STATE      BOOT  UPTIME  RESTARTS  MEMORY    LAST RUN                RESULT     NEXT RUN                LAST LOG LINE',
      'importer  systemd   active     yes   7s      0         18.2 MiB  -                       -          -                       a\\x1b[2Jb\\x09c',
      'x         systemd   scheduled  -     -       -         -         2026-11-24 08:30+05:30  exit-code  2026-11-25 08:30+05:30  -',
    ])
  })

  it('is cut to the width of the terminal', () => {
    const cut = formatStatus([aService({ lastLogLine: 'x'.repeat(200) })], 22)
    expect(cut).toEqual(['NAME      TEMPLATE  ST', 'importer  systemd   ac'])
  })

  it('is whole where the terminal tells no width', async () => {
    const written: string[] = []
    const stdout = Object.assign(
      new Writable({ write: (text, _, done) => done(void written.push(`${text}`)) }),
      {
        columns: 0,
      },
    )
    const context = { stdout, stderr: stdout } as unknown as CliContext
    await printStatus([aService()], { json: false, context })
    expect(written.join('')).toContain('importer  systemd   active')
  })

  it.each([
    [0, '0s'],
    [59, '59s'],
    [60, '1m 0s'],
    [3_607, '1h 0m'],
    [90_061, '1d 1h'],
  ])('shows %d seconds as %s', (uptimeSeconds, text) => {
    const [, row] = formatStatus([aService({ uptimeSeconds })], 200)
    expect(row).toContain(`active  yes   ${text}  `)
  })
})

it.each([
  ['active', 0],
  ['scheduled', 0],
  ['inactive', 3],
  ['failed', 3],
  ['restarting', 3],
  ['unknown', 4],
])('exits for a service that is %s as systemctl status does: %d', (state, code) => {
  expect(exitCodeOf([aService({ state })])).toBe(code)
})
