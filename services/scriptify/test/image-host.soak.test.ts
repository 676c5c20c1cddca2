import { randomUUID } from 'node:crypto'
import { docker, run } from '@latchkey/test-support/images.ts'
import { endedOf, HARDENED, IMAGE } from '@latchkey/test-support/scriptify-image.ts'
import { builtScriptifyImage } from '@latchkey/test-support/servers/shared-server.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Machine, read, startSystemdMachine, succeed } from './services/machine.ts'
import { forgetCalls, HOSTILE, HOSTILE_VALUE, installProbe, nextCall, type Probe } from './services/probe.ts'
import { hasDocker } from './terminal-docker.ts'

// The host is a machine with systemd, whose folders the container mounts as an admin mounts / of a real one.
describe.runIf(await hasDocker())('the container, with the files of a host', () => {
  const id = randomUUID().slice(0, 8)
  const folders = ['etc', 'usr', 'opt', 'srv']
  const volumes = folders.map((folder) => ({ source: `latchkey-test-${id}-${folder}`, target: `/${folder}` }))
  const mount = (mode: 'rw' | 'ro') =>
    volumes.flatMap(({ source, target }) => [
      '-v',
      `${source}:/host${target}:${target === '/etc' ? mode : 'ro'}`,
    ])
  let host: Machine

  beforeAll(async () => {
    await builtScriptifyImage()
    host = await startSystemdMachine('php', volumes)
    // The host's own copy of scriptify, out of the image.
    const container = await docker('create', IMAGE)
    await run('sh', ['-c', 'docker cp "$1":/app - | docker cp - "$2":/opt', 'sh', container, host.getId()])
    await docker('rm', container)
    await succeed(host, 'ln', '-s', '/opt/app/services/scriptify/bin/scriptify', '/usr/local/bin/scriptify')
  })
  afterAll(async () => {
    await host?.stop()
    await docker('volume', 'rm', '--force', ...volumes.map(({ source }) => source))
  })

  const asRoot = (...words: string[]) =>
    endedOf('docker', ['run', '--rm', '--user', 'root', '--read-only', ...mount('rw'), IMAGE, ...words])
  const asPowerlessRoot = (...words: string[]) =>
    endedOf('docker', ['run', '--rm', '--user', 'root', ...HARDENED, ...mount('rw'), IMAGE, ...words])
  const asNobody = (...words: string[]) =>
    endedOf('docker', ['run', '--rm', ...HARDENED, ...mount('ro'), IMAGE, ...words])

  it.each(['php', 'ts'] as const)(
    'installs, lists and uninstalls a service in %s that the host runs',
    async (language) => {
      const probe: Probe = await installProbe(host, language)
      const install = [
        ...['install', '--root', '/host', '--template=systemd', 'probe', '--user', 'app'],
        ...['--class', probe.record, '--rootdir', probe.rootdir, '--env', `HARD=${HOSTILE_VALUE}`],
        ...HOSTILE.flatMap((arg) => ['--arg', arg]),
      ]
      const refused = await asNobody(...install)
      expect(refused).toMatchObject({ code: 4, stdout: '' })
      const powerless = await asPowerlessRoot(...install)
      expect(powerless).toMatchObject({
        code: 4,
        stdout: '',
        stderr: expect.stringContaining('capabilities'),
      })

      expect(await asRoot(...install)).toMatchObject({ code: 0, stderr: '' })
      await succeed(host, 'systemctl', 'daemon-reload')
      await succeed(host, 'systemctl', 'enable', '--now', 'probe')
      expect(await nextCall(host)).toMatchObject({ args: HOSTILE, value: HOSTILE_VALUE, cwd: probe.rootdir })
      const listed = await asNobody('services', '--root', '/host', '--only-names')
      expect(listed).toEqual({ code: 0, stdout: 'probe\n', stderr: '' })

      await succeed(host, 'systemctl', 'disable', '--now', 'probe')
      expect(await asRoot('uninstall', 'probe', '--root', '/host')).toMatchObject({ code: 0, stderr: '' })
      await succeed(host, 'systemctl', 'daemon-reload')
      expect((await asNobody('services', '--root', '/host', '--only-names')).stdout).toBe('')
      expect(await read(host, '/etc/systemd/system/probe.service')).toBeUndefined()
      expect(await read(host, '/etc/scriptify/probe.env')).toBeUndefined()
      await forgetCalls(host)
    },
  )
})
