import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { hasDocker } from '../terminal-docker.ts'
import { HOME, type Machine, read, readLog, run, scriptify, startSysvMachine, succeed } from './machine.ts'
import { forgetCalls, HOSTILE, HOSTILE_VALUE, installProbe, nextCall, type Probe } from './probe.ts'

const args = HOSTILE.flatMap((arg) => ['--arg', arg])
const MARK = (name: string, template: string) =>
  `# scriptify: managed service=${name} template=${template} v=1\n`

describe.runIf(await hasDocker())('install and uninstall', () => {
  let machine: Machine
  let probe: Probe
  let untouched = ''

  beforeAll(async () => {
    machine = await startSysvMachine('node', ['/etc/cron.d'])
    probe = await installProbe(machine, 'ts')
    // As on a machine with upstart.
    await succeed(machine, 'mkdir', '/etc/init')
    untouched = await everything()
  })
  afterAll(() => machine?.stop())
  /** Every file that an installation could touch: name, kind, mode, owner, size, time of the last change. */
  const everything = () =>
    succeed(
      machine,
      'sh',
      '-c',
      `find /etc /var/log /run /srv /mnt ! -type d -printf '%p %y %m %u %s %T@\\n' | sort`,
    )
  /** Every test reverts what it did. */
  const expectUntouched = async () => {
    await forgetCalls(machine)
    expect(await everything()).toBe(untouched)
  }
  const put = (path: string, content: string, mode = '644') =>
    succeed(
      machine,
      ...[
        'sh',
        '-c',
        'mkdir -p "$(dirname "$1")"; printf %s "$2" > "$1"; chmod "$3" "$1"',
        'sh',
        path,
        content,
        mode,
      ],
    )
  const remove = (...paths: string[]) => succeed(machine, 'rm', '-rf', ...paths)
  const install = (name: string, template: string, ...more: string[]) =>
    scriptify(
      machine,
      ...[
        'install',
        `--template=${template}`,
        name,
        '--class',
        probe.record,
        '--rootdir',
        probe.rootdir,
        ...more,
      ],
    )
  /** scriptify of a user who is not root. */
  const asUser = (...words: string[]) =>
    run(
      machine,
      ...['setpriv', '--reuid=app', '--regid=app', '--clear-groups'],
      ...['node', `${HOME}/services/scriptify/bin/scriptify`, ...words],
    )
  const uninstall = (name: string, ...more: string[]) => scriptify(machine, 'uninstall', name, ...more)

  describe('bad input', { concurrent: true }, () => {
    /** A project in a folder of root's. */
    const inLocked = ['--rootdir', '/root/project', '--class', 'probe.ts#Probe::record']
    beforeAll(() =>
      succeed(machine, 'sh', '-c', 'mkdir -p /root/project; cp /srv/*/src/probe.ts /root/project'),
    )
    afterAll(expectUntouched)

    it.each([
      { why: 'to start without systemd', words: ['--start'], code: 2 },
      { why: 'to start without upstart', words: ['--template=upstart', '--start'], code: 2 },
      { why: 'a folder that its user may not enter', words: [...inLocked, '--user', 'app'], code: 4 },
    ])('refuses $why with $code, in one line, and writes nothing', async ({ words, code }) => {
      const ended = await install('x', 'systemd', ...words)
      expect({ ...ended, lines: ended.stderr.trimEnd().split('\n').length }).toMatchObject({
        code,
        stdout: '',
        lines: 1,
      })
    })

    it('refuses arguments that are not UTF-8', async () => {
      const words = `node ${HOME}/services/scriptify/bin/scriptify install x --class ${probe.record} --rootdir "$1"`
      const script = `${words} --arg "$(printf '\\377')"`
      expect(await run(machine, 'sh', '-c', script, 'sh', probe.rootdir)).toMatchObject({
        ...{ code: 2, stderr: expect.stringContaining('UTF-8') },
      })
    })

    it('shows every user what would be written', async () => {
      const words = ['install', 'probe', '--class', probe.record, '--rootdir', probe.rootdir, '--dry-run']
      const { code, stdout } = await asUser(...words)
      expect(code).toBe(0)
      expect(stdout).toContain('==> /etc/systemd/system/probe.service')
    })

    it.each(['install', 'uninstall'])('%s is for root', async (command) => {
      const options = command === 'install' ? ['--class', probe.record, '--rootdir', probe.rootdir] : []
      expect(await asUser(command, 'probe', ...options)).toEqual({
        ...{ code: 4, stdout: '', stderr: `scriptify ${command} needs root: use sudo\n` },
      })
    })

    it('uninstalls only what has a name, is there, and is ours', async () => {
      for (const name of ['../../tmp/keep', '', 'a\nb']) expect((await uninstall(name)).code).toBe(2)
      expect(await uninstall('unknown')).toEqual({
        code: 3,
        stdout: '',
        stderr: 'Service unknown does not exist\n',
      })
      expect(await uninstall('cron')).toMatchObject({
        code: 4,
        stderr: expect.stringContaining('/etc/init.d/cron'),
      })
    })
  })

  describe('an installed service', () => {
    afterEach(expectUntouched)

    it('is replaced only with --force, and keeps the mode and owner of its files', async () => {
      expect((await install('probe', 'systemd', '--env', 'HARD=one')).code).toBe(0)
      await succeed(
        machine,
        'sh',
        '-c',
        'chmod 640 /etc/scriptify/probe.env; chown root:app /etc/scriptify/probe.env',
      )
      expect(await install('probe', 'systemd', '--env', 'HARD=two')).toMatchObject({
        ...{ code: 2, stderr: expect.stringContaining('--force') },
      })
      expect(await read(machine, '/etc/scriptify/probe.env')).toContain('HARD="one"')
      expect((await install('probe', 'systemd', '--env', 'HARD=two', '--force')).code).toBe(0)
      expect(await read(machine, '/etc/scriptify/probe.env')).toContain('HARD="two"')
      expect(await succeed(machine, 'stat', '-c', '%a %U:%G', '/etc/scriptify/probe.env')).toBe(
        '640 root:app\n',
      )
      expect(await install('probe', 'crond', '--force')).toMatchObject({
        ...{ code: 2, stderr: expect.stringContaining('uninstall it first') },
      })
      expect((await uninstall('probe')).code).toBe(0)
    })

    it('gets what this version writes, with all that it was installed with', async () => {
      const options = ['--user', 'app', '--schedule', '0 4 * * *', ...args]
      expect((await install('probe', 'crond', ...options)).code).toBe(0)
      const launcher = '/etc/scriptify/probe.run'
      const current = await read(machine, launcher)
      await succeed(machine, 'sed', '-i', '$i # of an earlier version', launcher)
      const earlier = await everything()
      await succeed(machine, 'sh', '-c', 'head -c 200000 /dev/zero > /etc/cron.d/filling || true')
      expect(await scriptify(machine, 'install', 'probe', '--force')).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^Nothing was installed: ENOSPC.*\n$/),
      })
      await remove('/etc/cron.d/filling')
      expect(await everything()).toBe(earlier)
      expect((await scriptify(machine, 'install', 'probe', '--force')).code).toBe(0)
      expect(await read(machine, launcher)).toBe(current)
      expect((await uninstall('probe')).code).toBe(0)
    })

    it('is complete or can be repaired after a kill at any moment of its installation', async () => {
      const words = [
        'install',
        '--template=crond',
        'probe',
        '--class',
        probe.record,
        '--rootdir',
        probe.rootdir,
      ]
      for (const seconds of ['0.1', '0.2', '0.25', '0.3', '0.35', '0.4', '0.5', '0.6', '0.8']) {
        const killer = [
          'timeout',
          '--signal=KILL',
          seconds,
          'node',
          `${HOME}/services/scriptify/bin/scriptify`,
        ]
        const { code } = await run(machine, ...killer, ...words)
        expect([0, 137]).toContain(code)
        const again = await install('probe', 'crond', '--force')
        expect({ seconds, ...again }).toMatchObject({ code: 0, stderr: '' })
        expect((await uninstall('probe')).code).toBe(0)
        expect(await everything(), seconds).toBe(untouched)
      }
    })

    it('is unchanged when the disk is full during its replacement', async () => {
      const fill = () => run(machine, 'sh', '-c', 'head -c 200000 /dev/zero > /etc/cron.d/filling')
      await fill()
      const before = await everything()
      expect(await install('probe', 'crond')).toMatchObject({
        ...{ code: 1, stderr: expect.stringMatching(/^Nothing was installed: ENOSPC.*\n$/) },
      })
      expect(await everything()).toBe(before)
      await remove('/etc/cron.d/filling')

      expect((await install('probe', 'crond', '--env', 'HARD=one')).code).toBe(0)
      await fill()
      expect((await install('probe', 'crond', '--env', 'HARD=two', '--force')).code).toBe(1)
      expect(await read(machine, '/etc/scriptify/probe.env')).toContain('HARD="one"')
      await remove('/etc/cron.d/filling')
      expect((await uninstall('probe')).code).toBe(0)
    })

    it('is enabled, and leaves no link behind, where systemd does not run', async () => {
      expect(await install('probe', 'systemd', '--enable')).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('\nNothing starts it: systemd does not run here; in a container '),
      })
      const { stdout } = await install('probe', 'systemd', '--force')
      expect(stdout).not.toContain('does not start at boot')
      const link = '/etc/systemd/system/multi-user.target.wants/probe.service'
      expect((await run(machine, 'test', '-L', link)).code).toBe(0)
      expect((await uninstall('probe')).code).toBe(0)
      expect((await run(machine, 'test', '-L', link)).code).toBe(1)
    })

    it('is unchanged when it cannot be enabled', async () => {
      const link = '/etc/systemd/system/multi-user.target.wants/probe.service'
      await put(link, 'theirs')
      const before = await everything()
      const refused = {
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/^Nothing was installed: systemctl enable probe\.service: .+\n$/),
      }
      expect(await install('probe', 'systemd', '--enable')).toEqual(refused)
      expect(await everything()).toBe(before)

      expect((await install('probe', 'systemd', '--env', 'HARD=one')).code).toBe(0)
      const installed = await everything()
      expect(await install('probe', 'systemd', '--env', 'HARD=two', '--enable', '--force')).toEqual(refused)
      expect(await everything()).toBe(installed)
      await remove(link)
      expect((await uninstall('probe')).code).toBe(0)
    })

    it('is enabled and uninstalled by a root whose PATH has no sbin', async () => {
      // As after `su` without a dash.
      const asRoot = [
        'env',
        'PATH=/usr/local/bin:/usr/bin:/bin',
        'node',
        `${HOME}/services/scriptify/bin/scriptify`,
      ]
      const words = [
        'install',
        '--template=initd',
        'probe',
        '--class',
        probe.record,
        '--rootdir',
        probe.rootdir,
      ]
      expect(await run(machine, ...asRoot, ...words, '--enable')).toMatchObject({ code: 0, stderr: '' })
      expect(await succeed(machine, 'sh', '-c', 'ls /etc/rc3.d')).toMatch(/S\d\dprobe/)
      expect(await run(machine, ...asRoot, 'uninstall', 'probe')).toMatchObject({ code: 0, stderr: '' })
    })

    it('can be uninstalled when only parts of it are left', async () => {
      await put('/etc/scriptify/probe.env', MARK('probe', 'systemd'), '600')
      await put('/etc/systemd/system/.probe.service.scriptify-0123456789ab.new', 'half')
      expect((await uninstall('probe')).code).toBe(0)
    })
  })

  describe('an installation', () => {
    afterEach(expectUntouched)

    it('shows what it would do, and does nothing', async () => {
      const { code, stdout } = await install(
        'probe',
        'crond',
        ...args,
        '--env',
        'PASSWORD=secret',
        '--dry-run',
      )
      expect(code).toBe(0)
      expect(stdout).toContain('==> /etc/cron.d/probe (mode 0644)')
      expect(stdout).toContain('* * * * * root /etc/scriptify/probe.run')
      expect(stdout).toContain('PASSWORD="…"')
      expect(stdout).not.toContain('secret')
      expect(await everything()).toBe(untouched)

      expect((await install('probe', 'crond')).code).toBe(0)
      const before = await everything()
      // It only reads, so it needs no root.
      const plan = await asUser('uninstall', 'probe', '--dry-run')
      expect(plan.stdout).toContain('would remove  /etc/cron.d/probe')
      expect(await everything()).toBe(before)
      expect((await uninstall('probe')).code).toBe(0)
    })

    it('keeps no compiled code where /var/cache is read-only', async () => {
      const plan = async () => (await install('probe', 'systemd', '--dry-run')).stdout
      expect(await plan()).toContain('\nCacheDirectory=scriptify/probe\n')
      // The repository is mounted read-only.
      const swap = `mv /var/cache /var/cache.own && ln -s ${HOME} /var/cache`
      await succeed(machine, 'sh', '-c', swap)
      expect(await plan()).toMatch(/\nExecStart=(?![\s\S]*CacheDirectory)/)
      await succeed(machine, 'sh', '-c', 'rm /var/cache && mv /var/cache.own /var/cache')
    })

    it('installs one of two that come at once, and tells the other', async () => {
      const [first, second] = await Promise.all([install('twin', 'crond'), install('twin', 'crond')])
      const [won, lost] = first.code === 0 ? [first, second] : [second, first]
      expect(won).toMatchObject({ code: 0, stderr: '' })
      expect(lost.code).toBeOneOf([1, 2])
      expect(lost.stderr).toMatch(
        /^(Nothing was installed: another installation of twin has finished first|twin is already installed)/,
      )
      expect((await uninstall('twin')).code).toBe(0)
    })

    it('is watched and removed where its log has 2 GB', async () => {
      expect((await install('probe', 'crond')).stdout).toMatch(/^Nothing starts it: cron does not run here/m)
      const log = '/var/log/scriptify-probe.log'
      await succeed(machine, 'sh', '-c', `truncate -s 2G ${log}; printf '\\nthe last\\n' >> ${log}`)
      expect((await scriptify(machine, 'logs', 'probe', '--lines', '1')).stdout).toBe('the last\n')
      expect((await scriptify(machine, 'services')).stdout).toMatch(
        /^probe +crond +inactive +yes( +-){6} +the last$/m,
      )
      expect((await uninstall('probe')).stdout).toContain(log)
    })

    it('writes a job for upstart whose launcher hands over every byte', async () => {
      expect(
        (await install('probe', 'upstart', ...args, '--env', `HARD=${HOSTILE_VALUE}`, '--user', 'app')).code,
      ).toBe(0)
      expect(await read(machine, '/etc/init/probe.conf')).toContain('\nexec /etc/scriptify/probe.run\n')
      const launched = run(machine, '/etc/scriptify/probe.run')
      expect(await nextCall(machine)).toMatchObject({
        args: HOSTILE,
        value: HOSTILE_VALUE,
        home: '/home/app',
      })
      await succeed(machine, 'pkill', '-f', '[P]robe::record')
      await launched
      // As upstart keeps them, and one of a service of that name that is not ours.
      const logs = ['probe.log', 'probe.log.1.gz', 'probe2.log'].map((name) => `/var/log/upstart/${name}`)
      for (const log of logs) await put(log, 'said')
      expect((await install('probe2', 'crond')).code).toBe(0)
      for (const name of ['probe', 'probe2']) expect((await uninstall(name)).code).toBe(0)
      expect(await succeed(machine, 'ls', '/var/log/upstart')).toBe('probe2.log\n')
      await remove('/var/log/upstart')
    })

    it('controls a job of upstart by its commands, as they answer', async () => {
      expect((await install('probe', 'upstart')).code).toBe(0)
      await put(
        '/sbin/initctl',
        '#!/bin/sh\necho "$@" >> /run/asked\n[ "$1" != status ] || cat /run/answer',
        '755',
      )
      for (const action of ['start', 'stop']) {
        await put(`/usr/local/sbin/${action}`, `#!/bin/sh\necho ${action} "$@" >> /run/asked`, '755')
      }
      const states = []
      for (const answer of ['start/running, process 1', 'start/pre-start, process 1', 'stop/waiting']) {
        await put('/run/answer', `probe ${answer}\n`)
        const [service] = JSON.parse((await scriptify(machine, 'status', 'probe', '--json')).stdout)
        states.push([service.state, service.memoryBytes > 0])
      }
      expect(states).toEqual([
        ['active', true],
        ['activating', false],
        ['inactive', false],
      ])
      expect(await scriptify(machine, 'restart', 'probe')).toMatchObject({ stdout: 'Restarted probe\n' })
      expect(await succeed(machine, 'tail', '-n', '3', '/run/asked')).toBe(
        'stop probe\nstart probe\nstatus probe\n',
      )
      await remove('/run/answer')
      expect((await scriptify(machine, 'status', 'probe')).stdout).toMatch(/^probe +upstart +unknown /m)
      expect((await uninstall('probe')).code).toBe(0)
      await remove('/sbin/initctl', '/usr/local/sbin/start', '/usr/local/sbin/stop', '/run/asked')
    })

    it('installs for an init system that one file, one template and one line of registration add', async () => {
      const registered = (...words: string[]) =>
        run(machine, 'node', `${HOME}/services/scriptify/test/services/runit/scriptify.ts`, ...words)
      const method = ['--class', probe.record, '--rootdir', probe.rootdir]
      const install = [
        'install',
        '--template=runit',
        'probe',
        ...method,
        '--env',
        `HARD=${HOSTILE_VALUE}`,
        ...args,
      ]
      const { stdout: help } = await registered('install', '--help')
      expect(help.replaceAll(/\s+/g, ' ')).toContain(
        '(default: systemd) (choices: "systemd", "upstart", "initd", "crond", "runit")',
      )
      expect(await registered(...install)).toMatchObject({
        ...{ code: 3, stderr: '/etc/sv does not exist: is that init system installed?\n' },
      })
      await succeed(machine, 'mkdir', '/etc/sv', '/etc/service')
      const plan = await registered(...install, '--dry-run', '--enable')
      expect(plan.stdout).toContain('==> /etc/sv/probe/run (mode 0755)\n#!/bin/sh\n# scriptify: managed')
      expect(plan.stdout).toContain('would run: ln -sfn /etc/sv/probe /etc/service/probe\n')
      expect(await registered(...install, '--schedule', '@daily')).toMatchObject({
        ...{ code: 2, stderr: '--schedule does not fit --template=runit: it is for systemd and crond\n' },
      })
      expect(await everything()).toBe(untouched)

      const { code, stdout } = await registered(...install, '--enable')
      expect({ code, stdout }).toMatchObject({
        ...{ code: 0, stdout: expect.stringContaining('Nothing starts it: runit does not run here\n') },
      })
      expect((await registered('services')).stdout).toMatch(/^probe +runit +unknown +yes /m)
      expect(await registered('start', 'probe')).toMatchObject({
        ...{ code: 2, stderr: 'probe cannot be controlled: runit does not run here\n' },
      })
      const launched = run(machine, '/etc/service/probe/run')
      expect(await nextCall(machine)).toMatchObject({ args: HOSTILE, value: HOSTILE_VALUE })
      await succeed(machine, 'pkill', '-f', '[P]robe::record')
      await launched
      expect(await registered('uninstall', 'probe')).toMatchObject({ code: 0, stderr: '' })
      expect(await succeed(machine, 'find', '/etc', '-name', '*probe*')).toBe('')
      await remove('/etc/sv', '/etc/service')
    })

    it('installs on another system whose files are mounted', async () => {
      // Enough of a system to run the service: a shell, Node, what its launcher calls, what they load, the project, and
      // scriptify elsewhere.
      const script = `
      cd /mnt && mkdir -p host/etc/cron.d host/usr/local/bin host/opt/tools/services/scriptify host/var/probe host/var/log host/dev host/run
      mkdir -p host/opt/tools/node_modules/@latchkey
      cp -r ${HOME}/node_modules/@babel host/opt/tools/node_modules/
      ln -s ../../text host/opt/tools/node_modules/@latchkey/text
      cp -r ${HOME}/shared/text host/opt/tools/
      : > host/dev/null
      mkdir -p "host$1" && cp -r "$1/." "host$1"
      cp -r ${HOME}/services/scriptify/package.json ${HOME}/services/scriptify/bin ${HOME}/services/scriptify/src host/opt/tools/services/scriptify/
      programs='/bin/sh /bin/cat /usr/bin/awk /bin/mkfifo /bin/rm /bin/date /usr/local/bin/node'
      for file in $programs $(ldd $programs | grep -o '/[^ :]*' | sort -u)
      do mkdir -p "host$(dirname $file)"; cp -L $file "host$file"; done
      printf 'root:x:0:0::/root:/bin/sh\\n' > host/etc/passwd`
      await succeed(machine, 'sh', '-ec', script, 'sh', probe.rootdir)
      const words = ['--root', '/mnt/host', ...args, '--env', `HARD=${HOSTILE_VALUE}`]
      const misplaced = await install('probe', 'crond', ...words)
      expect(misplaced).toMatchObject({ code: 3, stderr: expect.stringContaining('scriptify was not found') })
      const program = '/opt/tools/services/scriptify/bin/scriptify'
      await succeed(machine, 'ln', '-s', program, '/mnt/host/usr/local/bin/scriptify')
      const { code, stderr } = await install('probe', 'crond', ...words)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(await succeed(machine, 'sh', '-c', 'ls /mnt/host/etc/scriptify; ls /etc/cron.d')).not.toMatch(
        /^probe$/m,
      )
      expect(
        await succeed(machine, 'grep', '-rl', '/mnt/host', '/mnt/host/etc', '--include=probe*').catch(
          () => '',
        ),
      ).toBe('')

      const { code: ended } = await run(machine, 'chroot', '/mnt/host', '/etc/scriptify/probe.run')
      expect(ended).toBe(0)
      const log = await readLog(machine, '/mnt/host/var/log/scriptify-probe.log')
      expect(log).toMatch(/^\S+ recorded\n$/)
      await succeed(machine, 'mv', '/mnt/host/var/probe/seen.json', '/var/probe/seen.json')
      expect(await nextCall(machine)).toMatchObject({
        args: HOSTILE,
        value: HOSTILE_VALUE,
        cwd: probe.rootdir,
      })

      expect((await scriptify(machine, 'services', '--only-names', '--root', '/mnt/host')).stdout).toBe(
        'probe\n',
      )
      expect((await uninstall('probe', '--root', '/mnt/host')).code).toBe(0)
      expect(await succeed(machine, 'find', '/mnt/host/etc', '/mnt/host/var/log', '-name', '*probe*')).toBe(
        '',
      )

      // Links that lead nowhere but on that system; the next release moves them, so they are what is written.
      const linked = `
      cd /mnt/host/srv && mkdir releases && mv "/mnt/host$1" releases/1
      ln -s /srv/releases/1 current && ln -s /srv/releases/1/src/probe.ts first.ts`
      await succeed(machine, 'sh', '-ec', linked, 'sh', probe.rootdir)
      const current = ['--rootdir', '/srv/current', '--bootstrap', '/srv/first.ts']
      const again = await install('probe', 'crond', ...words, ...current)
      expect(again).toMatchObject({ code: 0, stderr: '' })
      const launcher = await read(machine, '/mnt/host/etc/scriptify/probe.run')
      expect(launcher).toContain(`\ncd '/srv/current'\n`)
      expect(launcher).toContain('"bootstrap":"/srv/first.ts"')
      expect(launcher).not.toContain('releases')
      expect((await run(machine, 'chroot', '/mnt/host', '/etc/scriptify/probe.run')).code).toBe(0)
      await succeed(machine, 'mv', '/mnt/host/var/probe/seen.json', '/var/probe/seen.json')
      expect(await nextCall(machine)).toMatchObject({ args: HOSTILE, cwd: '/srv/releases/1' })
      await remove('/mnt/host')
    })
  })
})
