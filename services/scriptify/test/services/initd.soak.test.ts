import { afterAll, beforeAll, describe, expect, it, onTestFailed } from 'vitest'
import { hasDocker } from '../terminal-docker.ts'
import {
  eventually,
  type Machine,
  read,
  run,
  SCRIPTIFY,
  scriptify,
  startSystemdMachine,
  startSysvMachine,
  succeed,
} from './machine.ts'
import { forgetCalls, HOSTILE, HOSTILE_VALUE, installProbe, nextCall, type Probe } from './probe.ts'

const args = HOSTILE.flatMap((arg) => ['--arg', arg])

describe.runIf(await hasDocker()).each([
  { init: 'SysV only', language: 'php', start: () => startSysvMachine('php'), levels: true },
  { init: 'SysV only', language: 'ts', start: () => startSysvMachine('node'), levels: true },
  { init: 'systemd', language: 'php', start: () => startSystemdMachine('php'), levels: false },
] as const)('a $language script of /etc/init.d under $init', ({ language, start, levels }) => {
  let machine: Machine
  let probe: Probe

  beforeAll(async () => {
    machine = await start()
    probe = await installProbe(machine, language)
  })
  afterAll(() => machine?.stop())

  function install(name: string, ...more: string[]) {
    // It would be in the way of the next try, and of the tests that list what is installed.
    onTestFailed(async () => void (await scriptify(machine, 'uninstall', name)))
    return scriptify(
      machine,
      ...['install', '--template=initd', name, '--class', probe.record, '--rootdir', probe.rootdir],
      // The service's PATH is its own: scriptify finds the language by the PATH of its caller.
      ...[...args, '--env', `HARD=${HOSTILE_VALUE}`, '--env', 'PATH=/evil', ...more],
    )
  }
  const service = async (name: string, action: string) => (await run(machine, 'service', name, action)).code

  it('hands over every byte, and answers start, status, restart and stop as LSB says', async () => {
    expect(await install('probe', '--enable')).toMatchObject({ code: 0, stderr: '' })
    expect(await service('probe', 'status')).toBe(3)
    expect(await read(machine, '/etc/logrotate.d/scriptify-probe')).toContain(
      '/var/log/scriptify-probe.log {',
    )

    expect(await service('probe', 'start')).toBe(0)
    expect(await service('probe', 'status')).toBe(0)
    const seen = await nextCall(machine)
    expect(seen).toMatchObject({ args: HOSTILE, value: HOSTILE_VALUE, cwd: probe.rootdir, uid: 0 })
    // A second start does not start a second process.
    expect(await service('probe', 'start')).toBe(0)
    expect((await nextCall(machine, seen)).pid).toBe(seen.pid)

    expect(await service('probe', 'restart')).toBe(0)
    await eventually(async () => (await nextCall(machine)).pid !== seen.pid)

    expect(await service('probe', 'stop')).toBe(0)
    expect(await service('probe', 'status')).toBe(3)
    expect(await service('probe', 'stop')).toBe(0)

    expect(await service('probe', 'start')).toBe(0)
    expect(await scriptify(machine, 'uninstall', 'probe')).toMatchObject({ code: 0, stderr: '' })
    expect(await succeed(machine, 'sh', '-c', `pgrep -f '[P]robe::record' || true`)).toBe('')
    const left = await succeed(
      machine,
      'find',
      '/etc',
      '/run',
      '/var/log',
      '-name',
      '*probe*',
      '-not',
      '-path',
      '/run/systemd/*',
    )
    expect(left).toBe('')
  })

  it('obeys scriptify’s own words, and tells how it is', async () => {
    const word = (...words: string[]) => scriptify(machine, ...words)
    expect((await install('worded')).code).toBe(0)
    expect(await word('start', 'worded')).toMatchObject({ code: 0, stdout: 'Started worded\n' })
    const [status] = JSON.parse((await word('status', 'worded', '--json')).stdout)
    expect(status).toMatchObject({ name: 'worded', state: 'active' })
    expect(status.uptimeSeconds).toBeGreaterThanOrEqual(0)
    expect(status.memoryBytes).toBeGreaterThan(1024 ** 2)
    expect((await word('stop', 'worded')).code).toBe(0)
    expect(await word('logs', 'worded')).toMatchObject({ code: 0, stderr: '' })
    // The tool has the pid of scriptify: where that is killed, nothing goes on to follow.
    const follow = `echo begin >> /var/log/scriptify-worded.log
      ${SCRIPTIFY} logs worded --follow > /tmp/followed & until grep -q begin /tmp/followed; do sleep 0.05; done
      echo more >> /var/log/scriptify-worded.log; until grep -q more /tmp/followed; do sleep 0.05; done
      kill $!; wait $!; echo $?`
    expect(await succeed(machine, 'timeout', '120', 'sh', '-c', follow)).toBe('143\n')
    // Its first call fails: at once, or while scriptify still looks. On a busy machine it fails later.
    await succeed(machine, 'sed', '-i', 's/"method":"record"/"method":"needy"/', '/etc/scriptify/worded.run')
    const refused = await eventually(async () => {
      const started = await word('start', 'worded')
      return started.code !== 0 && started
    })
    expect(refused).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^worded does not start: .+ "\S*needy takes 0 arguments.*"; see \/var\/log\/scriptify-worded\.log\n$/,
      ),
    })
    expect((await word('logs', 'worded', '--lines', '1')).stdout).toMatch(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4} .*needy takes 0 arguments/,
    )
    expect((await word('uninstall', 'worded')).code).toBe(0)
  })

  it('runs as its user', async () => {
    // The files that a call of root has left would be in the way.
    await forgetCalls(machine)
    expect(await install('lowly', '--user', 'app', '--start')).toMatchObject({ code: 0 })
    const uid = Number(await succeed(machine, 'id', '-u', 'app'))
    const call = await eventually(async () => {
      const seen = await nextCall(machine)
      return seen.uid === uid && seen
    })
    expect(call).toMatchObject({ args: HOSTILE, value: HOSTILE_VALUE, home: '/home/app' })
    expect(await service('lowly', 'status')).toBe(0)
    expect((await scriptify(machine, 'status', 'lowly')).stdout).toMatch(/ active +no +/)
    await succeed(machine, 'rm', '/etc/init.d/lowly')
    expect((await scriptify(machine, 'uninstall', 'lowly')).code).toBe(0)
    expect(await succeed(machine, 'sh', '-c', `pgrep -f '[P]robe::record' || true`)).toBe('')
  })

  it.runIf(levels)(
    'reports a dead process and an unknown action, and starts at boot when enabled',
    async () => {
      expect((await install('dying', '--enable', '--start')).code).toBe(0)
      expect(await succeed(machine, 'sh', '-c', 'ls /etc/rc3.d /etc/rc6.d')).toMatch(
        /S\d\ddying[\s\S]*K\d\ddying/,
      )
      const { pid } = await eventually(async () => {
        const seen = await nextCall(machine)
        return (await run(machine, 'test', '-d', `/proc/${seen.pid}`)).code === 0 && seen
      })
      await succeed(machine, 'kill', '-KILL', String(pid))
      await eventually(async () => (await service('dying', 'status')) === 1)
      expect((await scriptify(machine, 'status', 'dying')).stdout).toMatch(/^dying +initd +failed +yes /m)
      expect(await service('dying', 'reload')).toBe(2)
      expect(await service('dying', 'start')).toBe(0)
      expect(await service('dying', 'status')).toBe(0)
      expect((await scriptify(machine, 'uninstall', 'dying')).code).toBe(0)
      expect(await succeed(machine, 'find', '/etc', '-name', '*dying*')).toBe('')
    },
  )

  it.runIf(language === 'php')('is restarted after an upgrade of php by the distribution', async () => {
    await forgetCalls(machine)
    expect((await install('upgraded', '--start')).code).toBe(0)
    const { pid } = await nextCall(machine)
    const upgrade =
      'cp /usr/bin/php8.4 /usr/bin/php8.9; mv /usr/bin/php8.4 /root/; ln -sf /usr/bin/php8.9 /usr/bin/php'
    await succeed(machine, 'sh', '-ec', upgrade)
    expect(await service('upgraded', 'status')).toBe(0)
    expect(await service('upgraded', 'restart')).toBe(0)
    await eventually(async () => (await nextCall(machine)).pid !== pid)
    expect((await run(machine, 'test', '-d', `/proc/${pid}`)).code).toBe(1)
    expect((await scriptify(machine, 'uninstall', 'upgraded')).code).toBe(0)
    expect(await succeed(machine, 'sh', '-c', `pgrep -f '[P]robe::record' || true`)).toBe('')
    const restore = 'mv /root/php8.4 /usr/bin/; rm /usr/bin/php8.9; ln -sf /etc/alternatives/php /usr/bin/php'
    await succeed(machine, 'sh', '-ec', restore)
  })

  it.runIf(language === 'php')('writes scripts in which shellcheck finds nothing', async () => {
    expect((await install('checked', '--user', 'app')).code).toBe(0)
    const { code, stdout } = await run(
      machine,
      ...['shellcheck', '-s', 'dash', '/etc/init.d/checked', '/etc/scriptify/checked.run'],
    )
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect((await scriptify(machine, 'uninstall', 'checked')).code).toBe(0)
  })
})
