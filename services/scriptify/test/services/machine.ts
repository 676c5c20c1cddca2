import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { sharedServer } from '@latchkey/test-support/servers/shared-server.ts'
import type { GenericContainer, StartedTestContainer } from 'testcontainers'
import { COMPILED_ONCE, ROOT } from '../terminal-docker.ts'
import { type Ended, openMachineShell, type RunOnMachine } from './machine-shell.ts'

/** The repository on a machine; not below /tmp, which a service with its own /tmp cannot see. */
export const HOME = '/opt/latchkey'

const CGROUPS = '/sys/fs/cgroup'

export type Machine = StartedTestContainer & AsyncDisposable

/**
 * A Debian with systemd as PID 1: `php` is trixie (systemd 257, php 8.4, Node), `node` bookworm (252, Node). Each volume
 * is mounted on its target folder.
 */
export async function startSystemdMachine(
  kind: 'php' | 'node',
  volumes: { source: string; target: string }[] = [],
): Promise<Machine> {
  const image = await buildMachine(kind)
  return bootSystemd(image.withEnvironment(COMPILED_ONCE), [repository, ...volumes])
}

/** Starts an image whose PID 1 is systemd. */
export async function bootSystemd(
  image: GenericContainer,
  mounts: { source: string; target: string }[] = [],
): Promise<Machine> {
  const { Wait } = await import('testcontainers')
  const machine = image
    .withTmpFs({ '/run': 'rw', '/run/lock': 'rw' })
    .withBindMounts([...mounts, ...controlGroups()])
  return (
    (hasUnifiedGroups ? machine.withPrivilegedMode() : machine)
      // Degraded: a container cannot run some of Debian's own units.
      .withWaitStrategy(
        Wait.forSuccessfulCommand("systemctl is-system-running --wait | grep -Eq 'running|degraded'"),
      )
      .start()
  )
}

/** The same without systemd: PID 1 only reaps. Each folder of `small` has a size of 64 KiB. */
export async function startSysvMachine(kind: 'php' | 'node', small: string[] = []): Promise<Machine> {
  const { Wait } = await import('testcontainers')
  const image = await buildMachine(kind)
  return image
    .withEnvironment(COMPILED_ONCE)
    .withTmpFs(Object.fromEntries(small.map((folder) => [folder, 'rw,size=64k'])))
    .withBindMounts([repository])
    .withCommand(['sh', '-c', 'while :; do sleep 1; done'])
    .withWaitStrategy(Wait.forSuccessfulCommand('true'))
    .start()
}

const shells = new WeakMap<Machine, RunOnMachine>()

/** Runs a program on the machine as root until it ends. */
export function run(machine: Machine, ...words: string[]): Promise<Ended> {
  const shell = shells.get(machine) ?? openMachineShell(machine.getId())
  shells.set(machine, shell)
  return shell(words)
}

/** The words of the command, for a script of sh. */
export const SCRIPTIFY = `node ${HOME}/services/scriptify/bin/scriptify`

/** Runs scriptify on the machine. */
export const scriptify = (machine: Machine, ...words: string[]): Promise<Ended> =>
  run(machine, 'node', `${HOME}/services/scriptify/bin/scriptify`, ...words)

/** Runs a program that has to succeed; gives its standard output. */
export async function succeed(machine: Machine, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(machine, ...words)
  if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}: ${stderr}${stdout}`)
  return stdout
}

/** Keeps an uninstall from removing the folder that a concurrent installation is about to write to. */
export const keepScriptifyFolder = (machine: Machine): Promise<string> =>
  succeed(machine, 'sh', '-c', 'mkdir -p /etc/scriptify && touch /etc/scriptify/.kept')

/** The text of a file; undefined where there is none. */
export async function read(machine: Machine, path: string): Promise<string | undefined> {
  const { code, stdout } = await run(machine, 'cat', path)
  return code === 0 ? stdout : undefined
}

/** The text of a log, once something has been written to it. */
export const readLog = (machine: Machine, path: string): Promise<string> =>
  eventually(async () => (await read(machine, path)) || undefined)

/** Waits until `look` finds something; throws after 90 s. */
export async function eventually<Found>(look: () => Promise<Found | undefined | false>): Promise<Found> {
  for (let attempt = 0; attempt < 450; attempt++) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    await setTimeout(200)
  }
  throw new Error(`This did not come true within 90 s: ${look}`)
}

const repository = { source: ROOT, target: HOME, mode: 'ro' as const }

/** Version 2: a privileged container gets its own part, and a bind mount does not help any other. */
const hasUnifiedGroups = existsSync(`${CGROUPS}/cgroup.controllers`)

/** Version 1: systemd only writes to its own hierarchy, which needs no capability. */
const controlGroups = () =>
  hasUnifiedGroups
    ? []
    : [
        { source: CGROUPS, target: CGROUPS, mode: 'ro' as const },
        { source: `${CGROUPS}/systemd`, target: `${CGROUPS}/systemd`, mode: 'rw' as const },
      ]

/** The image of a machine, without this repository. */
export async function buildMachine(kind: 'php' | 'node'): Promise<GenericContainer> {
  const { GenericContainer } = await import('testcontainers')
  return new GenericContainer(await sharedServer(`systemd-${kind}-image`))
}
