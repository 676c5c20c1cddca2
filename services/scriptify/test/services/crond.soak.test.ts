import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseSchedule } from '../../src/services/systems/crontab-schedule.ts'
import { hasDocker } from '../terminal-docker.ts'
import {
  eventually,
  keepScriptifyFolder,
  type Machine,
  read,
  readLog,
  run,
  SCRIPTIFY,
  scriptify,
  startSysvMachine,
  succeed,
} from './machine.ts'
import { HOSTILE, HOSTILE_VALUE, installProbe, nextCall, type Probe } from './probe.ts'

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

/** The time in front of each line of a log. */
const TIME = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d[+-]\\d{4}'

/** The folder in which the methods of `Slow` leave a line for each run, and look for the file `ready`. */
const folderOf = (name: string) => `/var/probe/${name}`

/** A method that runs until its state is ready, and one that leaves a process behind. */
const SLOW = `<?php
namespace Jobs;
final class Slow
{
    public function wait(string ...$args): void
    {
        $this->note();
        while (!file_exists(getenv('FOLDER') . '/ready')) {
            usleep(50_000);
            clearstatcache();
        }
    }
    public function leave(string ...$args): void
    {
        $this->note();
        exec('sleep 61 > /dev/null 2>&1 &');
        exit(7);
    }
    public function print(string ...$args): void
    {
        echo "on \\\\n %s stdout\\n";
        fwrite(STDERR, "  é on stderr\\n");
        echo 'end';
    }
    private function note(): void
    {
        file_put_contents(getenv('FOLDER') . '/runs', "run\\n", FILE_APPEND);
    }
}`

/** Installs a method of `Slow` under a schedule that never fires during the tests. */
async function installSlow(job: Job, name: string, method: string, ...more: string[]) {
  await succeed(job.machine, 'sh', '-c', 'mkdir -p "$1"; chmod 1777 "$1"', 'sh', folderOf(name))
  return install(
    job,
    name,
    ...['--class', `\\Jobs\\Slow::${method}`, '--schedule', '0 0 1 1 *'],
    ...['--env', `FOLDER=${folderOf(name)}`, ...more],
  )
}

async function prepare(kind: 'php' | 'node', language: 'php' | 'ts'): Promise<Job> {
  const machine = await startSysvMachine(kind)
  await succeed(machine, 'service', 'cron', 'start')
  await keepScriptifyFolder(machine)
  const probe = await installProbe(machine, language)
  const file = `${probe.rootdir}/src/Slow.php`
  await succeed(machine, 'sh', '-c', 'printf %s "$1" > "$2"', 'sh', SLOW, file)
  return { machine, probe }
}

// At once, because cron fires only once a minute.
describe.runIf(await hasDocker())('a job of cron', { concurrent: true }, () => {
  let php: Job
  let ts: Job

  beforeAll(async () => {
    ;[php, ts] = await Promise.all([prepare('php', 'php'), prepare('node', 'ts')])
  })
  afterAll(() => Promise.all([php, ts].map((job) => job?.machine.stop())))

  it.for([
    { language: 'php', jobOf: () => php },
    { language: 'TypeScript', jobOf: () => ts },
  ])(
    'in $language fires with every byte, and no more once it is uninstalled',
    async ({ jobOf }, { onTestFinished }) => {
      const job = jobOf()
      const { machine, probe } = job
      onTestFinished(async () => void (await scriptify(machine, 'uninstall', 'probe')))
      expect(await install(job, 'probe', '--user', 'app')).toMatchObject({ code: 0, stderr: '' })
      expect((await scriptify(machine, 'status', 'probe')).stdout).toMatch(/^probe +crond +scheduled /m)
      const started = await scriptify(machine, 'start', 'probe')
      expect(started).toMatchObject({ code: 2, stderr: expect.stringContaining('by its schedule') })
      const uid = Number(await succeed(machine, 'id', '-u', 'app'))
      expect(await nextCall(machine)).toMatchObject({
        ...{ args: HOSTILE, value: HOSTILE_VALUE, cwd: probe.rootdir, uid, home: '/home/app' },
      })
      const asUser = ['setpriv', '--reuid=app', '--regid=app', '--clear-groups', 'sh', '-c']
      const status = await eventually(async () => {
        const ended = await run(machine, ...asUser, `${SCRIPTIFY} status probe --json`)
        expect(ended).toMatchObject({ code: 0, stderr: '' })
        const [service] = JSON.parse(ended.stdout)
        return service.lastResult && service
      })
      expect(status.lastResult).toBe('success')
      expect(Date.parse(status.nextRun) - Date.parse(status.lastRun)).toBeLessThanOrEqual(120_000)
      // Cron counts in the machine's zone, whatever that of who asks is.
      const setTo = (schedule: string) => `sed -i 's/^[0-9* ]* root/${schedule} root/' /etc/cron.d/probe`
      const tell = `TZ=Asia/Tokyo ${SCRIPTIFY} status probe --json`
      const told = await succeed(machine, 'sh', '-c', `${setTo('0 5 * * *')}; ${tell}; ${setTo('* * * * *')}`)
      expect(JSON.parse(told)[0].nextRun).toMatch(/T05:00:00\.000Z$/)
      expect(await run(machine, ...asUser, `${SCRIPTIFY} logs probe`)).toMatchObject({
        ...{ code: 4, stderr: '/var/log/scriptify-probe.log is readable by root only: use sudo\n' },
      })
      expect((await scriptify(machine, 'uninstall', 'probe')).code).toBe(0)
      expect(await succeed(machine, 'find', '/etc', '/run', '/var/log', '-name', '*probe*')).toBe('')
      expect(await scriptify(machine, 'start', 'probe')).toMatchObject({ code: 3 })
      // An entry that cron still has in memory finds no file to execute.
      expect((await run(machine, '/etc/scriptify/probe.run')).code).not.toBe(0)
    },
  )

  it('skips a run while the previous one lasts, also after a new installation, and logs that', async () => {
    const { machine } = php
    const runs = () => read(machine, `${folderOf('slow')}/runs`)
    expect((await installSlow(php, 'slow', 'wait', '--user', 'app')).code).toBe(0)
    const first = run(machine, '/etc/scriptify/slow.run')
    await eventually(async () => (await runs()) === 'run\n')
    expect((await installSlow(php, 'slow', 'wait', '--user', 'app', '--force')).code).toBe(0)
    expect((await run(machine, '/etc/scriptify/slow.run')).code).toBe(0)
    expect(await runs()).toBe('run\n')
    const skipped = await readLog(machine, '/var/log/scriptify-slow.log')
    expect(skipped).toMatch(new RegExp(`^${TIME} skipped: the run before still goes on\\n$`))

    await succeed(machine, 'touch', `${folderOf('slow')}/ready`)
    expect((await first).code).toBe(0)
    expect((await run(machine, '/etc/scriptify/slow.run')).code).toBe(0)
    expect(await runs()).toBe('run\nrun\n')
    expect((await scriptify(machine, 'uninstall', 'slow')).code).toBe(0)
    expect(await succeed(machine, 'find', '/etc', '/run', '/var/log', '-name', '*slow*')).toBe('')
  })

  it('ends as its method does, and runs again while a process of that method is in the background', async () => {
    const { machine } = php
    expect((await installSlow(php, 'leaver', 'leave')).code).toBe(0)
    expect((await run(machine, '/etc/scriptify/leaver.run')).code).toBe(7)
    expect((await run(machine, '/etc/scriptify/leaver.run')).code).toBe(7)
    expect(await read(machine, `${folderOf('leaver')}/runs`)).toBe('run\nrun\n')
    const [status] = JSON.parse((await scriptify(machine, 'status', 'leaver', '--json')).stdout)
    expect(status).toMatchObject({
      ...{ state: 'scheduled', lastResult: 'exit code 7', nextRun: expect.stringMatching(/-01-01T00:00:00/) },
      lastRun: expect.stringMatching(/^20\d\d-.*Z$/),
    })
    await succeed(machine, 'pkill', '-f', '[s]leep 61')
    expect((await scriptify(machine, 'uninstall', 'leaver')).code).toBe(0)
  })

  it('says in its log that its program is gone', async () => {
    const { machine } = php
    expect((await installSlow(php, 'gone', 'leave', '--user', 'app')).code).toBe(0)
    // Not the program of one version, which an upgrade of the distribution removes.
    await succeed(
      machine,
      'sed',
      '-i',
      "s|^set -- '/usr/bin/php'|set -- '/usr/bin/php-gone'|",
      '/etc/scriptify/gone.run',
    )
    expect((await run(machine, '/etc/scriptify/gone.run')).code).toBe(127)
    expect(await readLog(machine, '/var/log/scriptify-gone.log')).toMatch(/\/usr\/bin\/php-gone.*not found\n/)
    const [status] = JSON.parse((await scriptify(machine, 'status', 'gone', '--json')).stdout)
    expect(status).toMatchObject({ state: 'scheduled', lastResult: 'exit code 127' })
    expect((await scriptify(machine, 'uninstall', 'gone')).code).toBe(0)
  })

  it.each([
    { why: 'as they are', name: 'lines', path: '/usr/local/bin:/usr/bin:/bin' },
    { why: 'where perl is missing', name: 'plain', path: '/opt/few' },
  ])('puts the time before each line, with all its bytes, $why', async ({ name, path }) => {
    const { machine } = php
    await succeed(
      machine,
      ...[
        'sh',
        '-ec',
        'mkdir -p /opt/few; for p in mkfifo rm date flock; do ln -sf "$(command -v $p)" /opt/few; done',
      ],
    )
    expect((await installSlow(php, name, 'print')).code).toBe(0)
    expect((await run(machine, 'env', `PATH=${path}`, `/etc/scriptify/${name}.run`)).code).toBe(0)
    const log = await eventually(async () => {
      const text = await read(machine, `/var/log/scriptify-${name}.log`)
      return text?.endsWith('end\n') && text
    })
    expect(log).toMatch(new RegExp(`^${TIME} on \\\\n %s stdout\\n${TIME} {3}é on stderr\\n${TIME} end\\n$`))
    expect((await scriptify(machine, 'uninstall', name)).code).toBe(0)
    expect(await succeed(machine, 'find', '/run', '/var/log', '-name', `*${name}*`)).toBe('')
  })

  it('ends when its launcher gets a SIGTERM', async () => {
    const { machine } = php
    expect((await installSlow(php, 'ended', 'wait', '--user', 'app', '--arg', 'to-be-ended')).code).toBe(0)
    const { stdout } = await run(
      machine,
      'sh',
      '-c',
      `/etc/scriptify/ended.run & launcher=$!
       n=0; until [ -e ${folderOf('ended')}/runs ] || [ $n -gt 600 ]; do sleep 0.1; n=$((n + 1)); done
       kill $launcher; wait $launcher; echo $?; pgrep -f '[t]o-be-ended' || echo none`,
    )
    expect(stdout).toBe('143\nnone\n')
    expect((await scriptify(machine, 'uninstall', 'ended')).code).toBe(0)
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
    expect((await install(php, 'checked', '--schedule', '0 0 1 1 *')).code).toBe(0)
    const { code, stdout } = await run(
      php.machine,
      ...['shellcheck', '-s', 'dash', '/etc/scriptify/checked.run'],
    )
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect((await scriptify(php.machine, 'uninstall', 'checked')).code).toBe(0)
  })
})
