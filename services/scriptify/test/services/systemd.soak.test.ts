import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasDocker } from '../terminal-docker.ts'
import {
  eventually,
  keepScriptifyFolder,
  type Machine,
  read,
  run,
  SCRIPTIFY,
  scriptify,
  startSystemdMachine,
  succeed,
} from './machine.ts'
import {
  forgetCalls,
  HOSTILE,
  HOSTILE_VALUE,
  installProbe,
  makeReady,
  nextCall,
  type Probe,
} from './probe.ts'

const STUCK = '/var/lib/systemd/timers/stamp-stuck.timer'
const args = HOSTILE.flatMap((arg) => ['--arg', arg])

/** The languages that each machine can run. */
const LANGUAGES = { php: ['php', 'ts'], node: ['ts'] } as const

describe.runIf(await hasDocker()).each(['php', 'node'] as const)(
  'under the systemd of the %s machine',
  (kind) => {
    const languages = LANGUAGES[kind]
    let machine: Machine

    beforeAll(async () => {
      // A file that another one is mounted on cannot be removed.
      await writeFile(join(tmpdir(), 'scriptify-stuck'), '')
      machine = await startSystemdMachine(kind, [
        { source: join(tmpdir(), 'scriptify-stuck'), target: STUCK },
      ])
    })
    afterAll(() => machine?.stop())

    const installFrom = (probe: Probe, name: string, method: string, ...more: string[]) =>
      scriptify(
        machine,
        ...['install', '--template=systemd', name, '--class', method, '--rootdir', probe.rootdir, ...more],
      )
    const systemctl = (...words: string[]) => run(machine, 'systemctl', ...words)

    describe.each(languages)('a service in %s', (language) => {
      let probe: Probe

      beforeAll(async () => {
        await forgetCalls(machine)
        probe = await installProbe(machine, language)
      })

      const install = (...words: [name: string, method: string, ...more: string[]]) =>
        installFrom(probe, ...words)

      it('hands over every byte, and obeys start, status, restart, stop and uninstall', async () => {
        const { code, stderr } = await install(
          'probe',
          probe.record,
          ...args,
          '--env',
          `HARD=${HOSTILE_VALUE}`,
          '--enable',
        )
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
        expect(
          await succeed(machine, 'stat', '-c', '%a %U:%G %n', '/etc/scriptify', '/etc/scriptify/probe.env'),
        ).toBe('755 root:root /etc/scriptify\n600 root:root /etc/scriptify/probe.env\n')
        expect((await systemctl('status', 'probe')).code).toBe(3)

        await succeed(machine, 'systemctl', 'start', 'probe')
        const seen = await nextCall(machine)
        expect(seen).toMatchObject({ args: HOSTILE, value: HOSTILE_VALUE, cwd: probe.rootdir, uid: 0 })
        expect((await systemctl('status', 'probe')).code).toBe(0)
        expect((await nextCall(machine, seen)).pid).toBe(seen.pid)

        await succeed(machine, 'systemctl', 'restart', 'probe')
        const restarted = await eventually(async () => {
          const call = await nextCall(machine)
          return call.pid !== seen.pid && call
        })
        expect(restarted.args).toEqual(HOSTILE)

        await succeed(machine, 'systemctl', 'stop', 'probe')
        expect(await succeed(machine, 'systemctl', 'show', '-P', 'Result', 'probe')).toBe('success\n')
        expect((await systemctl('status', 'probe')).code).toBe(3)

        await succeed(machine, 'systemctl', 'start', 'probe')
        expect((await scriptify(machine, 'uninstall', 'probe')).code).toBe(0)
        expect((await systemctl('status', 'probe')).code).toBe(4)
        expect(await succeed(machine, 'sh', '-c', `pgrep -f '[P]robe::record' || true`)).toBe('')
        expect(
          await succeed(machine, 'find', '/etc', '-name', '*probe*', '-o', '-path', '/etc/scriptify'),
        ).toBe('')
      })

      it('runs as its user, without access to its environment file', async () => {
        await forgetCalls(machine)
        const { code } = await install(
          'lowly',
          probe.record,
          ...args,
          '--env',
          `HARD=${HOSTILE_VALUE}`,
          '--user',
          'app',
          '--start',
        )
        expect(code).toBe(0)
        const uid = Number(await succeed(machine, 'id', '-u', 'app'))
        expect(await nextCall(machine)).toMatchObject({
          args: HOSTILE,
          value: HOSTILE_VALUE,
          uid,
          home: '/home/app',
        })
        const asUser = [
          'setpriv',
          '--reuid=app',
          '--regid=app',
          '--clear-groups',
          'cat',
          '/etc/scriptify/lowly.env',
        ]
        expect((await run(machine, ...asUser)).code).toBe(1)
        expect((await scriptify(machine, 'uninstall', 'lowly')).code).toBe(0)
      })
    })

    describe('a service', () => {
      const [language] = languages
      let probe: Probe

      beforeAll(async () => {
        probe = await installProbe(machine, language)
      })

      const install = (...words: [name: string, method: string, ...more: string[]]) =>
        installFrom(probe, ...words)

      it('obeys scriptify’s own words, and tells how it is', async () => {
        await forgetCalls(machine)
        const word = (...words: string[]) => scriptify(machine, ...words)
        expect((await install('worded', probe.record)).code).toBe(0)
        expect(await word('start', 'worded')).toEqual({ code: 0, stdout: 'Started worded\n', stderr: '' })
        const seen = await nextCall(machine)
        const status = JSON.parse((await word('status', 'worded', '--json')).stdout)
        expect(status).toMatchObject([{ name: 'worded', state: 'active', restarts: 0, startsAtBoot: false }])
        expect(status[0].uptimeSeconds).toBeGreaterThanOrEqual(0)
        expect((await word('services')).stdout).toMatch(/^NAME .*\n(.*\n)*worded +systemd +active +no +\d+s/)
        // As an admin edits it by hand.
        const unit = '/etc/systemd/system/worded.service'
        await succeed(machine, 'sed', '-i', 's/^Description=.*/Description=by hand/', unit)
        expect((await word('restart', 'worded')).code).toBe(0)
        await eventually(async () => (await nextCall(machine)).pid !== seen.pid)
        expect(await succeed(machine, 'systemctl', 'show', '-P', 'Description', 'worded')).toBe('by hand\n')
        expect((await word('stop', 'worded')).stdout).toBe('Stopped worded\n')
        expect(JSON.parse((await word('status', 'worded', '--json')).stdout)).toMatchObject([
          { state: 'inactive' },
        ])
        // systemd's own lines, such as "Started", are not the service's.
        const LINE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:?\d\d worded\[\d+\]: recorded$/
        const logged = await word('logs', 'worded')
        expect(logged).toMatchObject({ code: 0, stderr: '' })
        for (const line of logged.stdout.trimEnd().split('\n')) expect(line).toMatch(LINE)
        const asUser = ['setpriv', '--reuid=app', '--regid=app', '--clear-groups', 'sh', '-c']
        expect(await run(machine, ...asUser, `${SCRIPTIFY} logs worded`)).toEqual({
          ...{ code: 4, stdout: '', stderr: 'The log of worded is readable by root only: use sudo\n' },
        })
        for (const action of ['start', 'stop', 'restart', 'uninstall', 'terminal']) {
          const refused = await run(machine, ...asUser, `${SCRIPTIFY} ${action} worded`)
          expect(refused).toMatchObject({
            code: 4,
            stdout: '',
            stderr: expect.stringMatching(/: use sudo\n$/),
          })
        }
        // The service is restarted until the log is followed, and each time gets the time to write its line.
        const follow = `${SCRIPTIFY} logs worded --follow --lines 0 > /tmp/followed &
          until grep -q recorded /tmp/followed; do
            systemctl restart worded
            timeout 10 sh -c 'until grep -q recorded /tmp/followed; do sleep 0.1; done'
          done
          kill $!; wait $!; echo $?`
        expect(await succeed(machine, 'timeout', '120', 'sh', '-c', follow)).toBe('143\n')
        expect((await word('start', 'wordde')).stderr).toContain('(did you mean worded?)')
        const cache = '/var/cache/scriptify'
        const modes = await run(machine, 'stat', '-c', '%a %U', `${cache}/worded`)
        expect(modes.stdout).toBe(language === 'ts' ? '700 root\n' : '')
        await succeed(machine, 'rm', unit)
        expect((await word('uninstall', 'worded')).code).toBe(0)
        expect((await run(machine, 'test', '-e', cache)).code).toBe(1)
        expect((await systemctl('is-active', 'worded')).stdout).toBe('inactive\n')
      })

      it('is installed again and restarted as its user', async () => {
        await forgetCalls(machine)
        expect((await install('aged', probe.record, '--user', 'app', '--start')).code).toBe(0)
        const { pid, uid } = await nextCall(machine)
        const again = await scriptify(machine, 'install', 'aged', '--force', '--start')
        expect(again).toMatchObject({ code: 0, stderr: '' })
        const restarted = await eventually(async () => {
          const call = await nextCall(machine)
          return call.pid !== pid && call
        })
        expect(restarted.uid).toBe(uid)
        expect((await scriptify(machine, 'uninstall', 'aged')).code).toBe(0)
      })

      it('runs with another group, and without sandboxing if requested', async () => {
        await forgetCalls(machine)
        const options = [
          '--user',
          'app',
          '--group',
          'daemon',
          '--no-hardening',
          '--memory-max',
          '512M',
          '--start',
        ]
        expect(await install('loose', probe.record, ...options)).toMatchObject({ code: 0, stderr: '' })
        const { pid } = await nextCall(machine)
        expect(await succeed(machine, 'stat', '-c', '%U:%G', `/proc/${pid}`)).toBe('app:daemon\n')
        const show = (property: string) => succeed(machine, 'systemctl', 'show', '-P', property, 'loose')
        expect([await show('NoNewPrivileges'), await show('MemoryMax')]).toEqual(['no\n', '536870912\n'])
        expect(await install('loose', probe.record, '--force', '--schedule', '@daily')).toMatchObject({
          code: 2,
          stderr: 'loose is installed without a schedule: uninstall it first\n',
        })
        expect((await scriptify(machine, 'uninstall', 'loose')).code).toBe(0)
      })

      it('stays installed when its start fails', async () => {
        expect((await install('locked', probe.record, '--user', 'app')).code).toBe(0)
        await succeed(machine, 'sh', '-c', 'chmod 700 /srv')
        const ended = await scriptify(machine, 'restart', 'locked')
        await succeed(machine, 'sh', '-c', 'chmod 755 /srv')
        expect(ended).toMatchObject({
          code: 1,
          stderr: expect.stringMatching(
            /^locked does not start: systemctl restart locked\.service: .+; see journalctl -u locked\n$/,
          ),
        })
        expect(await succeed(machine, 'systemctl', 'show', '-P', 'ExecMainStatus', 'locked')).toBe('200\n')
        expect((await scriptify(machine, 'services', '--only-names')).stdout).toBe('locked\n')
        expect((await scriptify(machine, 'uninstall', 'locked')).code).toBe(0)
      })

      it('runs at its times, keeps its protection, and leaves nothing', async () => {
        await forgetCalls(machine)
        const timed = (...more: string[]) => install('timed', probe.record, '--schedule', ...more)
        expect(await timed('*-*-* 03:00', '--dry-run', '--enable', '--start')).toMatchObject({
          code: 0,
          stdout: expect.stringMatching(
            /OnCalendar=\*-\*-\* 03:00\n(.*\n)*would run: systemctl enable timed\.timer\n(.*\n)*would run: systemctl restart timed\.timer/,
          ),
        })
        expect(await timed('*-13-* 03:00')).toMatchObject({
          code: 2,
          stderr: expect.stringContaining('is not a time for systemd'),
        })
        expect(await timed('2020-01-01 03:00')).toMatchObject({
          code: 2,
          stderr: '--schedule "2020-01-01 03:00" never elapses: name a time that is to come\n',
        })
        expect(await timed('0 3 13 * fri', '--enable', '--start')).toMatchObject({ code: 0, stderr: '' })
        const show = (unit: string, property: string) =>
          succeed(machine, 'systemctl', 'show', '-P', property, unit)
        const calendar = await show('timed.timer', 'TimersCalendar')
        expect(calendar).toContain('OnCalendar=Fri *-*-* 03:00:00')
        expect(calendar).toContain('OnCalendar=*-*-13 03:00:00')
        expect(await show('timed.timer', 'Persistent')).toBe('yes\n')
        expect(await show('timed.service', 'NoNewPrivileges')).toBe('yes\n')
        const status = () => scriptify(machine, 'status', 'timed', '--json')
        const { stdout } = await status()
        expect(JSON.parse(stdout)).toMatchObject([{ state: 'scheduled', startsAtBoot: true }])
        expect(await install('timed', probe.record, '--force')).toMatchObject({
          code: 0,
          stdout: expect.stringMatching(/^Kept: --schedule$/m),
        })

        await succeed(machine, 'systemctl', 'start', 'timed')
        const { pid } = await nextCall(machine)
        await eventually(async () => (await systemctl('is-active', 'timed')).code !== 0)
        expect((await run(machine, 'test', '-d', `/proc/${pid}`)).code).toBe(1)
        expect(JSON.parse((await status()).stdout)).toMatchObject([
          {
            lastResult: 'success',
            lastRun: expect.stringMatching(/^20\d\d-.*Z$/),
            nextRun: expect.stringMatching(/T03:00:00Z$/),
          },
        ])
        expect((await scriptify(machine, 'stop', 'timed')).code).toBe(0)
        expect(JSON.parse((await status()).stdout)).toMatchObject([{ state: 'inactive' }])
        expect((await scriptify(machine, 'uninstall', 'timed')).code).toBe(0)
        // A stamp that stayed would make the next timer of that name catch up on a run at once.
        expect(await succeed(machine, 'find', '/etc', '/var/lib/systemd', '-name', '*timed*')).toBe('')
        expect((await systemctl('status', 'timed.timer')).code).toBe(4)
      })

      it('is scheduled after a run that failed, whose code it tells, and is watched by status', async () => {
        const status = (...more: string[]) => scriptify(machine, 'status', ...more)
        expect(
          (await install('failing', probe.needy, '--schedule', '@yearly', '--enable', '--start')).code,
        ).toBe(0)
        expect(await status('failing')).toMatchObject({ code: 0 })
        await systemctl('start', 'failing.service')
        const [failed] = await eventually(async () => {
          const services = JSON.parse((await status('failing', '--json')).stdout)
          return services[0].lastResult !== undefined && services
        })
        expect(failed).toMatchObject({ state: 'scheduled', lastResult: 'exit code 1' })
        expect((await scriptify(machine, 'stop', 'failing')).code).toBe(0)
        expect(await status('failing')).toMatchObject({ code: 3 })
        expect((await scriptify(machine, 'uninstall', 'failing')).code).toBe(0)
        expect(await status('failing')).toMatchObject({ code: 4, stderr: 'Service failing does not exist\n' })
      })

      it('logs all of a burst, and how many lines the journal has dropped', async () => {
        const unit = '/etc/systemd/system/bursting.service'
        expect((await install('bursting', probe.record, '--no-daemon')).code).toBe(0)
        const write = async (count: number) => {
          await succeed(machine, 'sed', '-i', `s|^ExecStart=.*|ExecStart=/usr/bin/seq ${count}|`, unit)
          await succeed(machine, 'systemctl', 'daemon-reload')
          await succeed(machine, 'systemctl', 'start', 'bursting')
          await eventually(async () => (await systemctl('is-active', 'bursting')).code !== 0)
          await succeed(machine, 'journalctl', '--sync')
        }
        await write(20_000)
        const logs = (...more: string[]) => scriptify(machine, 'logs', 'bursting', ...more)
        const { stdout } = await logs('--lines', '100000')
        expect(stdout.trimEnd().split('\n')).toHaveLength(20_000)
        expect(
          (await logs('--grep', '^1999[0-9]$', '--since', '1h')).stdout.trimEnd().split('\n'),
        ).toHaveLength(10)
        await succeed(machine, 'sed', '-i', 's|^LogRateLimitBurst=.*|LogRateLimitBurst=100|', unit)
        await write(10_000)
        // The journal tells it with the next line after the interval.
        await succeed(machine, 'sed', '-i', 's|^LogRateLimitIntervalSec=.*|LogRateLimitIntervalSec=1s|', unit)
        const dropped = await eventually(async () => {
          await write(1)
          return /systemd-journald\[\d+\]: Suppressed \d+ messages from .*bursting/.test(
            (await logs()).stdout,
          )
        })
        expect(dropped).toBe(true)
        expect((await scriptify(machine, 'uninstall', 'bursting')).code).toBe(0)
      })

      it('shows the logs of several in one, until it is stopped', async () => {
        for (const name of ['one', 'two']) expect((await install(name, probe.record, '--start')).code).toBe(0)
        const both = await eventually(async () => {
          const { stdout } = await scriptify(machine, 'logs', 'one', 'two')
          return / one\[\d+\]: recorded\n/.test(stdout) && / two\[\d+\]: recorded\n/.test(stdout)
        })
        expect(both).toBe(true)
        const follow = `timeout 60 ${SCRIPTIFY} logs one two --follow --lines 0 > /tmp/both & follower=$!
          until grep -q one /tmp/both && grep -q two /tmp/both; do sleep 0.1; kill -0 $follower || exit 1; done
          kill $(pgrep -P $follower); wait $follower; echo $?; pgrep journalctl || echo none`
        expect(await succeed(machine, 'timeout', '120', 'sh', '-c', follow)).toBe('143\nnone\n')
        for (const name of ['one', 'two']) expect((await scriptify(machine, 'uninstall', name)).code).toBe(0)
      })

      it('has the umask, the priority and the calls of a shell', async () => {
        await forgetCalls(machine)
        await succeed(machine, 'usermod', '--append', '--groups', 'daemon', 'app')
        expect((await install('plain', probe.record, '--user', 'app', '--start')).code).toBe(0)
        const { pid } = await nextCall(machine)
        const shown = await succeed(machine, 'sh', '-c', `grep Umask /proc/${pid}/status; ps -o ni= ${pid}`)
        expect(shown.split(/\s+/).slice(0, 3)).toEqual(['Umask:', '0022', '0'])
        const unit = '/etc/systemd/system/plain.service'
        const chgrp = 'ExecStart=/bin/sh -c "touch /var/probe/given \\&\\& chgrp daemon /var/probe/given"'
        await succeed(machine, 'sed', '-i', `s|^ExecStart=.*|${chgrp}|`, unit)
        await systemctl('daemon-reload')
        await systemctl('restart', 'plain')
        await eventually(async () => (await run(machine, 'test', '-e', '/var/probe/given')).code === 0)
        await eventually(async () => (await systemctl('is-active', 'plain')).code !== 0)
        expect(await succeed(machine, 'stat', '-c', '%U:%G %a', '/var/probe/given')).toBe('app:daemon 644\n')
        await succeed(machine, 'rm', '/var/probe/given')
        expect((await scriptify(machine, 'uninstall', 'plain')).code).toBe(0)
      })

      it('survives an upgrade of its program by the distribution, and says that it is gone', async () => {
        await forgetCalls(machine)
        const link = language === 'php' ? '/usr/bin/php' : '/usr/local/bin/node'
        expect((await install('upgraded', probe.record, '--start')).code).toBe(0)
        const { pid } = await nextCall(machine)
        expect(await read(machine, '/etc/systemd/system/upgraded.service')).toContain(`ExecStart="${link}" `)
        const program = (await succeed(machine, 'readlink', '-f', link)).trim()
        if (language === 'php') {
          await succeed(
            machine,
            'sh',
            '-ec',
            `cp ${program} /usr/bin/php8.9; mv ${program} /root/; ln -sf /usr/bin/php8.9 ${link}`,
          )
          expect((await scriptify(machine, 'restart', 'upgraded')).code).toBe(0)
          await eventually(async () => (await nextCall(machine)).pid !== pid)
          await succeed(machine, 'sh', '-ec', `rm ${link}`)
          expect(await scriptify(machine, 'restart', 'upgraded')).toMatchObject({
            code: 1,
            stderr: expect.stringMatching(/; exit code 203\/EXEC; .*see journalctl -u upgraded\n$/),
          })
          expect((await scriptify(machine, 'status', 'upgraded')).stdout).toContain('exit code 203/EXEC')
          await succeed(
            machine,
            'sh',
            '-ec',
            `rm /usr/bin/php8.9; mv /root/${program.split('/').at(-1)} ${program}; ln -s /etc/alternatives/php ${link}`,
          )
        }
        expect((await scriptify(machine, 'uninstall', 'upgraded')).code).toBe(0)
      })

      it('goes on where its stamp cannot be removed', async () => {
        const timed = await install('stuck', probe.record, '--schedule', '@yearly', '--enable', '--start')
        expect(timed.code).toBe(0)
        expect(await scriptify(machine, 'uninstall', 'stuck')).toEqual({
          ...{ code: 1, stdout: '' },
          stderr: expect.stringMatching(
            /^stuck is stopped, but not uninstalled: EBUSY: .*stamp-stuck\.timer'\n$/,
          ),
        })
        await succeed(
          machine,
          'sh',
          '-ec',
          'rm -f /etc/systemd/system/stuck.* /etc/scriptify/stuck.env; systemctl daemon-reload',
        )
      })

      it('leaves a timer that an admin wrote for it', async () => {
        const timer = '/etc/systemd/system/theirs.timer'
        await succeed(machine, 'sh', '-c', `printf '[Timer]\\nOnCalendar=daily\\n' > ${timer}`)
        expect(await install('theirs', probe.record, '--schedule', '@daily')).toMatchObject({
          code: 4,
          stderr: `${timer} was not written by scriptify; it stays as it is\n`,
        })
        expect((await install('theirs', probe.record)).code).toBe(0)
        await succeed(machine, 'systemctl', 'start', 'theirs.timer')
        expect((await scriptify(machine, 'uninstall', 'theirs')).code).toBe(0)
        expect((await systemctl('is-active', 'theirs.timer')).stdout).toBe('active\n')
        await succeed(machine, 'systemctl', 'stop', 'theirs.timer')
        await succeed(machine, 'rm', timer)
      })

      it('does not take the name of a service of the distribution', async () => {
        for (const template of ['systemd', 'initd'])
          expect(await install('cron', probe.record, `--template=${template}`, '--force')).toMatchObject({
            code: 4,
            stderr: expect.stringMatching(/choose another name|not written by scriptify/),
          })
        expect((await scriptify(machine, 'uninstall', 'cron')).code).toBe(4)
        expect((await systemctl('is-active', 'cron')).stdout).toBe('active\n')
      })

      it('lists what is installed, and shows what would be', async () => {
        const { stdout: plan } = await install(
          'listed',
          probe.record,
          '--env',
          'PASSWORD=secret',
          '--dry-run',
          '--enable',
        )
        expect(plan).toContain('==> /etc/systemd/system/listed.service (mode 0644)')
        expect(plan).toContain('would run: systemctl enable listed.service')
        expect(plan).not.toContain('secret')
        expect(await read(machine, '/etc/systemd/system/listed.service')).toBeUndefined()
        expect((await scriptify(machine, 'services')).stdout).toBe('No service is installed\n')

        expect((await install('listed', probe.record)).code).toBe(0)
        expect((await scriptify(machine, 'services', '--only-names')).stdout).toBe('listed\n')
        expect(JSON.parse((await scriptify(machine, 'services', '--json')).stdout)).toEqual([
          {
            name: 'listed',
            template: 'systemd',
            file: '/etc/systemd/system/listed.service',
            environment: '/etc/scriptify/listed.env',
            ...{ state: 'inactive', startsAtBoot: false, restarts: 0 },
          },
        ])
        const states = async () => {
          const [service] = JSON.parse((await scriptify(machine, 'services', '--json')).stdout)
          return [service.state, service.startsAtBoot]
        }
        expect(await states()).toEqual(['inactive', false])
        await succeed(machine, 'systemctl', 'enable', '--now', 'listed')
        expect(await states()).toEqual(['active', true])
        // systemd does not answer every user where its bus is not installed.
        const asked = await run(
          machine,
          ...['setpriv', '--reuid=app', '--regid=app', '--clear-groups'],
          ...['sh', '-c', `${SCRIPTIFY} status listed --json; systemctl is-enabled listed`],
        )
        const words = asked.stdout.endsWith('enabled\n') ? 'true' : '"unknown"'
        expect(asked.stdout).toContain(`"startsAtBoot": ${words}`)
        expect((await scriptify(machine, 'services')).stdout).toMatch(/^listed +systemd +active +yes /m)
        expect((await scriptify(machine, 'uninstall', 'listed')).code).toBe(0)
      })

      // None of these looks at what another one installs, and some wait for systemd.
      describe('beside others', { concurrent: true }, () => {
        beforeAll(() => keepScriptifyFolder(machine))
        afterAll(() => succeed(machine, 'rm', '-r', '/etc/scriptify'))

        it('is restarted without limit while what it needs is unavailable', async () => {
          await forgetCalls(machine)
          // A try before this one may have left it.
          await scriptify(machine, 'uninstall', 'needy')
          expect((await install('needy', probe.needy)).code).toBe(0)
          // Where its start takes longer than scriptify waits, that cannot tell yet; and systemd's own restart may come between.
          const { stderr } = await eventually(async () => {
            const ended = await scriptify(machine, 'restart', 'needy')
            return ended.stderr.includes('it has ended') && ended
          })
          expect(stderr).toMatch(
            /^needy does not start: it has ended; exit code 1; its log ends with ".*The database is unavailable.*"; see journalctl -u needy\n$/,
          )
          await eventually(async () => {
            const [service] = JSON.parse((await scriptify(machine, 'status', 'needy', '--json')).stdout)
            expect(service.lastLogLine).toContain('The database is unavailable')
            return service.state === 'restarting'
          })
          expect((await scriptify(machine, 'logs', 'needy')).stdout).toMatch(
            /: \w+: The database is unavailable \(src\/\S+:\d+\)\n\S+ needy\[\d+\]: {5}at (Jobs\\)?Probe(\.|->)needy \(src\/\S+\)\n/,
          )
          await eventually(
            async () => Number(await succeed(machine, 'systemctl', 'show', '-P', 'NRestarts', 'needy')) >= 2,
          )
          await makeReady(machine)
          await nextCall(machine)
          expect((await systemctl('is-active', 'needy')).code).toBe(0)
          const [, version] = /^systemd (\d+)/.exec((await systemctl('--version')).stdout) ?? []
          const unit = await succeed(machine, 'systemctl', 'cat', 'needy')
          expect(unit.includes('RestartMaxDelaySec=5min')).toBe(Number(version) >= 254)
          await succeed(machine, 'rm', '/var/probe/ready')
          expect((await scriptify(machine, 'uninstall', 'needy')).code).toBe(0)
        })

        it('is not restarted when its method no longer exists', async () => {
          expect((await install('gone', probe.record)).code).toBe(0)
          // As after a release without it.
          const unit = '/etc/systemd/system/gone.service'
          await succeed(
            machine,
            'sed',
            '-i',
            's/\\\\"method\\\\":\\\\"record/\\\\"method\\\\":\\\\"nothing/',
            unit,
          )
          await succeed(machine, 'systemctl', 'daemon-reload')
          await systemctl('start', 'gone')
          await eventually(async () => (await systemctl('is-failed', 'gone')).code === 0)
          const show = (property: string) => succeed(machine, 'systemctl', 'show', '-P', property, 'gone')
          expect([await show('ExecMainStatus'), await show('NRestarts')]).toEqual(['3\n', '0\n'])
          expect((await scriptify(machine, 'uninstall', 'gone')).code).toBe(0)
          expect(
            await succeed(machine, 'systemctl', 'list-units', '--all', '--no-legend', 'gone.service'),
          ).toBe('')
        })

        it('is removed again when it cannot be enabled', async () => {
          const link = '/etc/systemd/system/multi-user.target.wants/barred.service'
          await succeed(machine, 'sh', '-c', `mkdir -p "$(dirname ${link})" && echo theirs > ${link}`)
          expect(await install('barred', probe.record, '--enable')).toMatchObject({
            ...{ code: 1, stderr: expect.stringMatching(/^Nothing was installed: systemctl enable barred/) },
          })
          await succeed(machine, 'rm', link)
          expect((await systemctl('status', 'barred')).code).toBe(4)
          expect(await succeed(machine, 'find', '/etc', '-name', '*barred*')).toBe('')
        })

        it.each([
          { who: 'a user', name: 'tight-user', options: ['--user', 'app'], most: 1.8 },
          { who: 'root', name: 'tight-root', options: [], most: 3 },
          {
            who: 'a group',
            name: 'tight-group',
            options: ['--user', 'app', '--group', 'daemon', '--memory-max', '512M'],
            most: 1.8,
          },
        ])(
          'for $who has a unit without warnings and with little exposure',
          async ({ name, options, most }) => {
            expect((await install(name, probe.record, ...args, ...options)).code).toBe(0)
            const { stdout, stderr } = await run(
              machine,
              'systemd-analyze',
              'verify',
              `/etc/systemd/system/${name}.service`,
            )
            expect((stdout + stderr).split('\n').filter((line) => line.includes(name))).toEqual([])
            const security = await run(
              machine,
              'systemd-analyze',
              'security',
              '--no-pager',
              `${name}.service`,
            )
            const [, exposure] = /Overall exposure level for \S+: ([\d.]+)/.exec(security.stdout) ?? []
            expect(Number(exposure)).toBeGreaterThan(0)
            expect(Number(exposure)).toBeLessThanOrEqual(most)
            expect((await scriptify(machine, 'uninstall', name)).code).toBe(0)
          },
        )
      })
    })
  },
)
