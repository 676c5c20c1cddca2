import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseSchedule } from '../../src/services/schedule.ts'
import { hasDocker } from '../terminal-docker.ts'
import { eventually, type Machine, read, run, scriptify, startSysvMachine, succeed } from './machine.ts'
import { forgetCalls, HOSTILE, HOSTILE_VALUE, installProbe, nextCall, type Probe } from './probe.ts'

const args = HOSTILE.flatMap((arg) => ['--arg', arg])

describe.runIf(await hasDocker()).each([
  { language: 'php', kind: 'php' },
  { language: 'ts', kind: 'node' },
] as const)('a $language job of cron', ({ language, kind }) => {
  let machine: Machine
  let probe: Probe

  beforeAll(async () => {
    machine = await startSysvMachine(kind)
    probe = await installProbe(machine, language)
    await succeed(machine, 'service', 'cron', 'start')
  })
  afterAll(() => machine?.stop())

  const install = (name: string, ...more: string[]) =>
    scriptify(
      machine,
      ...['install', '--template=crond', name, '--class', probe.record, '--rootdir', probe.rootdir],
      ...[...args, '--env', `HARD=${HOSTILE_VALUE}`, ...more],
    )

  it('fires, hands over every byte, and fires no more once it is uninstalled', async () => {
    expect(await install('probe', '--user', 'app')).toMatchObject({ code: 0, stderr: '' })
    const uid = Number(await succeed(machine, 'id', '-u', 'app'))
    expect(await nextCall(machine)).toMatchObject({
      ...{ args: HOSTILE, value: HOSTILE_VALUE, cwd: probe.rootdir, uid, home: '/home/app' },
    })
    expect((await scriptify(machine, 'uninstall', 'probe')).code).toBe(0)
    expect(await succeed(machine, 'find', '/etc', '/run', '/var/log', '-name', '*probe*')).toBe('')
    // What cron still holds in memory has no file to execute.
    expect((await run(machine, '/etc/scriptify/probe.run')).code).not.toBe(0)
  })

  it('skips a run while the last one goes on', async () => {
    await forgetCalls(machine)
    expect((await install('slow', '--schedule', '0 0 1 1 *')).code).toBe(0)
    const held = ['sh', '-c', 'exec 9</etc/scriptify/slow.run; flock 9; touch /tmp/held; sleep 60']
    const holding = run(machine, ...held).catch(() => undefined)
    await eventually(async () => (await read(machine, '/tmp/held')) !== undefined)
    expect((await run(machine, '/etc/scriptify/slow.run')).code).toBe(0)
    expect(await read(machine, '/var/probe/seen.json')).toBeUndefined()
    await run(machine, 'pkill', '-f', '[s]leep 60')
    await holding
    expect((await run(machine, '/etc/scriptify/slow.run')).code).toBe(0)
    expect((await nextCall(machine)).args).toEqual(HOSTILE)
    expect((await scriptify(machine, 'uninstall', 'slow')).code).toBe(0)
  })

  it.runIf(kind === 'node')('takes no schedule that cron would not', async () => {
    const schedules = [
      '* * * * *',
      '*/5 0-23/2 1,15 jan-Mar 0-7',
      '1-5/2,7 22 29 2 SUN',
      '@reboot',
      '@midnight',
      '@hourly',
    ]
    for (const schedule of schedules) {
      const line = `${parseSchedule(schedule)} true\n`
      const { code, stderr } = await run(machine, 'sh', '-c', 'printf %s "$1" | crontab -', 'sh', line)
      expect({ schedule, code, stderr }).toEqual({ schedule, code: 0, stderr: '' })
    }
    // The proof that this cron does refuse something.
    expect((await run(machine, 'sh', '-c', 'echo "5/15 * * * * true" | crontab -')).code).not.toBe(0)
  })

  it.runIf(kind === 'php')('writes a launcher in which shellcheck finds nothing', async () => {
    expect((await install('checked')).code).toBe(0)
    const { code, stdout } = await run(machine, 'shellcheck', '-s', 'dash', '/etc/scriptify/checked.run')
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect((await scriptify(machine, 'uninstall', 'checked')).code).toBe(0)
  })
})
