import { CliError } from '../cli-error.ts'
import { parseEnvEntries } from '../env-entries.ts'
import { EXIT } from '../exit-codes.ts'
import { isServiceName } from '../service-name.ts'
import { isSystemdText } from './grammar/systemd.ts'
import { parseSchedule } from './schedule.ts'
import type { ServiceDefinition, ServiceTemplate } from './service.ts'

/** What the user asks for, as typed. */
export interface ServiceRequest {
  readonly name: string
  readonly template: ServiceTemplate
  readonly class: string
  readonly env: readonly string[]
  readonly description?: string | undefined
  readonly user?: string | undefined
  readonly group?: string | undefined
  readonly schedule?: string | undefined
  /** Absent: as the template has it. */
  readonly daemon?: boolean | undefined
  readonly interval?: number | undefined
  readonly hardening: boolean
  readonly privateTmp: boolean
  readonly memoryMax?: string | undefined
  readonly enable: boolean
  readonly start: boolean
}

const LONGEST_DESCRIPTION = 200
const EVERY_MINUTE = '* * * * *'
const ACCOUNT_NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,31}$/
// sh, as dash or bash, refuses to assign these or gives them values of its own.
const OF_THE_SHELL = [
  ...['_', 'BASHOPTS', 'BASH_VERSINFO', 'DIRSTACK', 'EUID', 'FUNCNAME', 'GROUPS', 'LINENO', 'OPTIND', 'PPID'],
  ...['RANDOM', 'SECONDS', 'SHELLOPTS', 'UID'],
]

/** Checks all that needs no look at the system; throws exit code 2 for whatever could not be written in its place. */
export function parseService(
  request: ServiceRequest,
): Omit<ServiceDefinition, 'command' | 'rootdir'> & { interval: number | undefined } {
  const { name, template, hardening, privateTmp, memoryMax } = request
  checkServiceName(name)
  if (hasControls(request.class)) throw refuse('--class', request.class, 'holds a control character')
  checkFit(request)
  const daemon = request.daemon ?? template !== 'crond'
  return {
    name,
    template,
    description:
      request.description === undefined ? describe(request.class) : parseDescription(request.description),
    ...parseAccount(request),
    environment: parseVariables(request.env, template),
    schedule: parseSchedule(request.schedule ?? EVERY_MINUTE),
    daemon,
    interval: daemon ? (request.interval ?? 1) : undefined,
    hardened: hardening,
    privateTmp: hardening && privateTmp,
    memoryMax: parseMemoryMax(memoryMax),
  }
}

export function checkServiceName(name: string): void {
  if (isServiceName(name)) return
  throw new CliError(
    `${JSON.stringify(name)} is not a service name: letters, digits, - and _, at most 64, first a letter or digit`,
    EXIT.usage,
  )
}

/** Refuses a path that one of the files could not hold as it is; returns it. */
export function checkPath(option: string, path: string): string {
  if (hasControls(path)) throw refuse(option, path, 'holds a control character')
  // systemd trims a value, and reads a backslash at its end as a line that goes on.
  if (/^\s|[\s\\]$/u.test(path))
    throw refuse(option, path, 'begins or ends with white space, or ends with a backslash')
  return path
}

function checkFit(request: ServiceRequest): void {
  const { template, schedule, daemon, interval, enable, start } = request
  const unfit = (option: string, reason: string) =>
    new CliError(`${option} does not fit --template=${template}: ${reason}`, EXIT.usage)
  if (schedule !== undefined && template !== 'crond') throw unfit('--schedule', 'only crond has one')
  if (template === 'crond') {
    if (daemon) throw unfit('--daemon', 'cron starts the method again by itself')
    if (interval !== undefined) throw unfit('--interval', 'use --schedule')
    if (enable || start) throw unfit(enable ? '--enable' : '--start', 'cron reads it at once')
  }
  if (template === 'upstart' && enable) throw unfit('--enable', 'upstart starts it at boot anyway')
  if (daemon === false && interval !== undefined) {
    throw new CliError(
      '--interval is for a method that is called again; --no-daemon calls it once',
      EXIT.usage,
    )
  }
  const confined = findConfinement(request)
  if (confined !== undefined && template !== 'systemd')
    throw unfit(confined, 'only systemd confines a service')
}

/** The first option that says how systemd is to confine the service. */
const findConfinement = ({ hardening, privateTmp, memoryMax }: ServiceRequest): string | undefined => {
  if (!hardening) return '--no-hardening'
  if (!privateTmp) return '--no-private-tmp'
  return memoryMax === undefined ? undefined : '--memory-max'
}

function parseMemoryMax(size: string | undefined): string | undefined {
  if (size === undefined || /^[1-9]\d{0,14}[KMGT]?$/.test(size)) return size
  throw refuse('--memory-max', size, 'is no number of bytes like 512M')
}

/** The end of a long reference tells the most. */
function describe(reference: string): string {
  const by = ' by scriptify'
  const most = LONGEST_DESCRIPTION - by.length
  return (reference.length > most ? `…${reference.slice(1 - most)}` : reference).trim() + by
}

function parseDescription(description: string): string {
  const line = description.trim()
  if (line === '' || line.length > LONGEST_DESCRIPTION)
    throw refuse('--description', description, `is empty or over ${LONGEST_DESCRIPTION} characters`)
  if (hasControls(line) || !isSystemdText(line)) {
    throw refuse('--description', description, 'is not one line of text')
  }
  // In a unit, the next line would become a part of it.
  if (line.endsWith('\\')) throw refuse('--description', description, 'ends with a backslash')
  return line
}

function parseAccount({ user, group }: ServiceRequest): Pick<ServiceDefinition, 'user' | 'group'> {
  if (user !== undefined && !ACCOUNT_NAME.test(user)) throw refuse('--user', user, 'is not a user name')
  if (group !== undefined && !ACCOUNT_NAME.test(group)) throw refuse('--group', group, 'is not a group name')
  const isRoot = user === undefined || user === 'root'
  if (isRoot && group !== undefined) throw new CliError('--group goes with a --user', EXIT.usage)
  return { user: isRoot ? undefined : user, group }
}

function parseVariables(entries: readonly string[], template: ServiceTemplate): Record<string, string> {
  const variables = parseEnvEntries(entries)
  for (const [name, value] of Object.entries(variables)) {
    const refuseVariable = (reason: string) => new CliError(`--env ${name}: ${reason}`, EXIT.usage)
    if (template !== 'systemd' && OF_THE_SHELL.includes(name)) {
      throw refuseVariable('the shell that starts the service keeps this name for itself')
    }
    if (template === 'systemd' && !isSystemdText(value)) {
      throw refuseVariable('its value holds what Unicode keeps for no character, so systemd would drop it')
    }
    // systemd drops such a variable without failing.
    if (/[^\P{Cc}\t\n\u0080-\u009f]/u.test(value)) {
      throw refuseVariable('its value holds a control character other than tab and newline')
    }
  }
  return variables
}

/** Tells whether a text would not stay on one line, or is no UTF-8. */
const hasControls = (text: string): boolean => /[\p{Cc}\p{Zl}\p{Zp}]/u.test(text) || !text.isWellFormed()

const refuse = (option: string, value: string, reason: string): CliError =>
  new CliError(`${option} ${JSON.stringify(value)} ${reason}`, EXIT.usage)
