import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { findInitSystem } from './init-system.ts'
import { type ServiceTemplate, SYSTEM_PATH } from './service.ts'

export interface ServiceState {
  /**
   * `active`, `inactive`, `failed`; with systemd also `activating`, as between two tries, and `deactivating`. Of cron
   * `scheduled`. `unknown` where no init system can tell, or may tell us.
   */
  readonly state: string
  readonly startsAtBoot: boolean | 'unknown'
}

/** Asks the init system of this machine about a service. */
export async function askState(name: string, template: ServiceTemplate): Promise<ServiceState> {
  if (template === 'crond') return { state: 'scheduled', startsAtBoot: true }
  const { systemd, upstart } = findInitSystem()
  if (template === 'upstart')
    return { state: upstart ? await askUpstart(name) : 'unknown', startsAtBoot: true }
  if (systemd) return askSystemd(name, template)
  if (template === 'systemd') return { state: 'unknown', startsAtBoot: 'unknown' }
  return { state: await askScript(name), startsAtBoot: await hasStartLink(name) }
}

async function askSystemd(name: string, template: ServiceTemplate): Promise<ServiceState> {
  const unit = `${name}.service`
  const [, active] = await run('systemctl', 'is-active', unit)
  const startsAtBoot =
    template === 'initd' ? await hasStartLink(name) : (await run('systemctl', 'is-enabled', unit))[0] === 0
  return { state: active.trim() || 'unknown', startsAtBoot }
}

/** The exit codes of LSB's `status`. */
async function askScript(name: string): Promise<string> {
  const [code] = await run('service', name, 'status')
  const states: Record<number, string> = { 0: 'active', 1: 'failed', 2: 'failed', 3: 'inactive' }
  return states[code] ?? 'unknown'
}

async function askUpstart(name: string): Promise<string> {
  const [code, said] = await run('initctl', 'status', name)
  if (code !== 0) return 'unknown'
  return said.includes('start/running') ? 'active' : 'inactive'
}

async function hasStartLink(name: string): Promise<boolean> {
  const levels = await Promise.all([2, 3, 4, 5].map((level) => readdir(`/etc/rc${level}.d`).catch(() => [])))
  return levels.flat().some((link) => /^S\d\d/.test(link) && link.slice(3) === name)
}

const run = (file: string, ...args: string[]): Promise<[code: number, stdout: string]> =>
  new Promise((resolve) => {
    const env = { ...process.env, PATH: SYSTEM_PATH }
    execFile(file, args, { timeout: 20_000, env }, (error, stdout) => {
      resolve([error === null ? 0 : typeof error.code === 'number' ? error.code : -1, stdout])
    })
  })
