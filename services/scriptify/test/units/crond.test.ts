import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseSchedule } from '../../src/units/systems/crontab-schedule.ts'
import { hasDocker } from '../terminal-docker.ts'
import { eventually, type Machine, read, run, scriptify, startSysvMachine, succeed } from './machine.ts'
import { HOSTILE, HOSTILE_VALUE, installProbe, makeReady, nextCall, type Probe } from './probe.ts'

interface Job {
  machine: Machine
  probe: Probe
}

const args = HOSTILE.flatMap((arg) => ['--arg', arg])

const install = ({ machine, probe }: Job, name: string, ...more: string[]) =>
  scriptify(
    machine,
    ...['install', '--template=crond', name, '--class', probe.record, '--rootdir', probe.rootdir],
    ...[...args, '--env', `HARD=${HOSTILE_VALUE}`, ...more],
  )

/** A method that goes on until /var/probe/ready is there, and one that leaves a process behind. */
const SLOW = `<?php
namespace Jobs;
final class Slow
{
    public function wait(string ...$args): void
    {
        file_put_contents('/var/probe/runs', "run\\n", FILE_APPEND);
        while (!file_exists('/var/probe/ready')) {
            usleep(50_000);
            clearstatcache();
        }
    }
    public function leave(string ...$args): void
    {
        file_put_contents('/var/probe/runs', "run\\n", FILE_APPEND);
        exec('sleep 61 > /dev/null 2>&1 &');
        exit(7);
    }
}`

async function prepare(kind: 'php' | 'node', language: 'php' | 'ts'): Promise<Job> {
  const machine = await startSysvMachine(kind)
  await succeed(machine, 'service', 'cron', 'start')
  return { machine, probe: await installProbe(machine, language) }
}

describe.runIf(await hasDocker())('a job of cron', () => {
  let php: Job
  let ts: Job

  beforeAll(async () => {
    ;[php, ts] = await Promise.all([prepare('php', 'php'), prepare('node', 'ts')])
  })
  afterAll(() => Promise.all([php, ts].map((job) => job?.machine.stop())))

  async function firesUntilUninstalled(job: Job): Promise<void> {
    const { machine, probe } = job
    expect(await install(job, 'probe', '--user', 'app')).toMatchObject({ code: 0, stderr: '' })
    const uid = Number(await succeed(machine, 'id', '-u', 'app'))
    expect(await nextCall(machine)).toMatchObject({
      ...{ args: HOSTILE, value: HOSTILE_VALUE, cwd: probe.rootdir, uid, home: '/home/app' },
    })
    expect((await scriptify(machine, 'uninstall', 'probe')).code).toBe(0)
    expect(await succeed(machine, 'find', '/etc', '/run', '/var/log', '-name', '*probe*')).toBe('')
    // What cron still holds in memory has no file to execute.
    expect((await run(machine, '/etc/scriptify/probe.run')).code).not.toBe(0)
  }

  it('fires, hands over every byte, and fires no more once it is uninstalled, in php and TypeScript', async () => {
    // Both at once, for cron fires but once a minute.
    await Promise.all([php, ts].map(firesUntilUninstalled))
  })

  it('skips a run while the last one goes on, also one that was installed anew, and says so in its log', async () => {
    const { machine } = php
    const installSlow = (...more: string[]) =>
      install(php, 'slow', '--schedule', '0 0 1 1 *', '--class', '\\Jobs\\Slow::wait', ...more)
    await succeed(machine, 'sh', '-c', 'printf %s "$1" > "$2/src/Slow.php"', 'sh', SLOW, php.probe.rootdir)
    expect((await installSlow('--user', 'app')).code).toBe(0)
    const first = run(machine, '/etc/scriptify/slow.run')
    await eventually(async () => (await read(machine, '/var/probe/runs')) === 'run\n')
    expect((await installSlow('--user', 'app', '--force')).code).toBe(0)
    expect((await run(machine, '/etc/scriptify/slow.run')).code).toBe(0)
    expect(await read(machine, '/var/probe/runs')).toBe('run\n')
    expect(await read(machine, '/var/log/scriptify-slow.log')).toMatch(
      /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d skipped: the run before still goes on\n$/,
    )

    await makeReady(machine)
    expect((await first).code).toBe(0)
    expect((await run(machine, '/etc/scriptify/slow.run')).code).toBe(0)
    expect(await read(machine, '/var/probe/runs')).toBe('run\nrun\n')
    expect((await scriptify(machine, 'uninstall', 'slow')).code).toBe(0)
    expect(await succeed(machine, 'find', '/etc', '/run', '/var/log', '-name', '*slow*')).toBe('')
    await succeed(machine, 'rm', '/var/probe/runs', '/var/probe/ready')
  })

  it('ends as its method does, and runs again though that left a process in the background', async () => {
    const { machine } = php
    await succeed(machine, 'sh', '-c', 'printf %s "$1" > "$2/src/Slow.php"', 'sh', SLOW, php.probe.rootdir)
    expect(
      (await install(php, 'leaver', '--class', '\\Jobs\\Slow::leave', '--schedule', '0 0 1 1 *')).code,
    ).toBe(0)
    expect((await run(machine, '/etc/scriptify/leaver.run')).code).toBe(7)
    expect((await run(machine, '/etc/scriptify/leaver.run')).code).toBe(7)
    expect(await read(machine, '/var/probe/runs')).toBe('run\nrun\n')
    await succeed(machine, 'pkill', '-f', '[s]leep 61')
    expect((await scriptify(machine, 'uninstall', 'leaver')).code).toBe(0)
    await succeed(machine, 'rm', '/var/probe/runs')
  })

  it('ends when its launcher is told to', async () => {
    const { machine } = php
    await succeed(machine, 'sh', '-c', 'printf %s "$1" > "$2/src/Slow.php"', 'sh', SLOW, php.probe.rootdir)
    const words = ['--class', '\\Jobs\\Slow::wait', '--schedule', '0 0 1 1 *', '--user', 'app']
    expect((await install(php, 'ended', ...words)).code).toBe(0)
    const { stdout } = await run(
      machine,
      'sh',
      '-c',
      `/etc/scriptify/ended.run & launcher=$!
       n=0; until [ -e /var/probe/runs ] || [ $n -gt 600 ]; do sleep 0.1; n=$((n + 1)); done
       kill $launcher; wait $launcher; echo $?; pgrep -f '[S]low::wait' || echo none`,
    )
    expect(stdout).toBe('143\nnone\n')
    expect((await scriptify(machine, 'uninstall', 'ended')).code).toBe(0)
    await succeed(machine, 'rm', '/var/probe/runs')
  })

  it.each([
    '* * * * *',
    '*/5 0-23/2 1,15 jan-Mar 0-7',
    '1-5/2,7 22 29 2 SUN',
    '0 0 * * sun-tue,6-7',
    '@reboot',
    '@midnight',
    '@hourly',
  ])('takes %s, and so does cron', async (schedule) => {
    const line = `${parseSchedule(schedule)} true\n`
    const { code, stderr } = await run(ts.machine, 'sh', '-c', 'printf %s "$1" | crontab -', 'sh', line)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  it('refuses a step after a single number, and so does cron', async () => {
    const schedule = '5/15 * * * *'
    expect(() => parseSchedule(schedule)).toThrow()
    expect((await run(ts.machine, 'sh', '-c', 'echo "$1 true" | crontab -', 'sh', schedule)).code).toBe(1)
  })

  it('has a launcher in which shellcheck finds nothing', async () => {
    expect((await install(php, 'checked')).code).toBe(0)
    const { code, stdout } = await run(
      php.machine,
      ...['shellcheck', '-s', 'dash', '/etc/scriptify/checked.run'],
    )
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect((await scriptify(php.machine, 'uninstall', 'checked')).code).toBe(0)
  })
})
