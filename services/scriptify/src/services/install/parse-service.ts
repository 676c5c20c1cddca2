import { CliError, EXIT } from '../../io/cli-error.ts'
import { parseEnvEntries, readEnvFiles } from '../../io/env-entries.ts'
import { type InitSystem, type LimitedOption, namesOf } from '../init-system.ts'
import type { Service } from '../service.ts'
import { hasControls, hasNoncharacter } from '../text.ts'
import type { InstallOptions } from './install-options.ts'

/** A service without the command, which depends on the machine. */
export type ParsedService = Omit<Service, 'command' | 'possiblePaths' | 'rootdir'>

const MAX_DESCRIPTION = 200
const ACCOUNT_NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,31}$/
// sh, whether dash or bash, refuses to assign these or gives them its own values.
const SHELL_VARIABLES = [
  ...['_', 'BASHOPTS', 'BASH_VERSINFO', 'DIRSTACK', 'EUID', 'FUNCNAME', 'GROUPS', 'LINENO', 'OPTIND', 'PPID'],
  ...['RANDOM', 'SECONDS', 'SHELLOPTS', 'UID'],
]

/**
 * Checks all that does not depend on this machine; throws exit code 2 for a text that one of the files could not contain.
 * `systems` are those that a refusal may recommend.
 */
export function parseService(
  options: InstallOptions,
  system: InitSystem,
  systems: readonly InitSystem[],
): ParsedService {
  const { name, root, class: reference } = options
  if (reference === undefined) throw new CliError(`Which method is ${name}? Name it by --class`, EXIT.usage)
  if (hasControls(reference)) throw invalidOption('--class', reference, 'contains a control character')
  requireOptions(options, system, systems)
  const schedule = system.schedule?.parse(options.schedule)
  const isRepeated = options.daemon ?? schedule === undefined
  return {
    ...{ name, root, schedule },
    description:
      options.description === undefined ? describe(reference) : parseDescription(options.description),
    ...parseAccount(options),
    environment: parseVariables(options, system),
    interval: isRepeated ? (options.interval ?? 1) : undefined,
    hardened: options.hardening ?? true,
    memoryMax: parseMemoryMax(options.memoryMax),
    restart: options.restart ?? 'on-failure',
    after: (options.after ?? []).map((name) => parseUnitName(name)),
  }
}

/** Refuses a path that one of the files could not contain as it is; returns it. */
export function requirePath(option: string, path: string): string {
  if (hasControls(path)) throw invalidOption(option, path, 'contains a control character')
  // A unit's values are trimmed, and a backslash at the end continues the line.
  if (/^\s|[\s\\]$/u.test(path))
    throw invalidOption(option, path, 'begins or ends with white space, or ends with a backslash')
  return path
}

/** Throws exit code 2 for an option that the init system does not take. */
function requireOptions(options: InstallOptions, system: InitSystem, systems: readonly InitSystem[]): void {
  const { schedule, daemon, interval } = options
  const unfit = (option: string, reason: string) =>
    new CliError(`${option} does not fit --template=${system.name}: ${reason}`, EXIT.usage)
  if (schedule !== undefined && !system.schedule)
    throw unfit('--schedule', `it is for ${namesOf(systems, (known) => known.schedule !== undefined)}`)
  for (const option of givenOptions(options)) {
    const reason = system.refuses[option]
    if (reason !== undefined) throw unfit(option, reason)
  }
  if (schedule !== undefined && (daemon === true || interval !== undefined)) {
    throw new CliError(
      `${daemon ? '--daemon' : '--interval'} does not fit --schedule, which starts the method again by itself`,
      EXIT.usage,
    )
  }
  if (schedule !== undefined && options.restart !== undefined)
    throw new CliError('--restart does not fit --schedule: a run that fails is not repeated', EXIT.usage)
  if (daemon === false && interval !== undefined) {
    throw new CliError('--interval is for repeated calls; --no-daemon calls the method once', EXIT.usage)
  }
}

function givenOptions(options: InstallOptions): LimitedOption[] {
  const given: [option: LimitedOption, isGiven: boolean][] = [
    ['--daemon', options.daemon === true],
    ['--interval', options.interval !== undefined],
    ['--enable', options.enable === true],
    ['--start', options.start === true],
    ['--restart', options.restart !== undefined],
    ['--after', options.after !== undefined],
    ['--memory-max', options.memoryMax !== undefined],
    ['--no-hardening', options.hardening === false],
  ]
  return given.filter(([, isGiven]) => isGiven).map(([option]) => option)
}

function parseMemoryMax(size: string | undefined): string | undefined {
  if (size === undefined || /^(?:[1-9]\d{0,14}[KMGT]?|infinity)$/.test(size)) return size
  throw invalidOption('--memory-max', size, 'is not a number of bytes like 512M')
}

/** A long reference is cut at the front, because its end says the most. */
function describe(reference: string): string {
  const by = ' by scriptify'
  const most = MAX_DESCRIPTION - by.length
  return (reference.length > most ? `…${reference.slice(1 - most)}` : reference).trim() + by
}

function parseDescription(description: string): string {
  const line = description.trim()
  if (line === '' || line.length > MAX_DESCRIPTION)
    throw invalidOption('--description', description, `is empty or over ${MAX_DESCRIPTION} characters`)
  if (hasControls(line) || hasNoncharacter(line)) {
    throw invalidOption('--description', description, 'is not one line of text')
  }
  // The next line of a unit would become a part of it.
  if (line.endsWith('\\')) throw invalidOption('--description', description, 'ends with a backslash')
  return line
}

function parseAccount({ user, group }: InstallOptions): Pick<Service, 'user' | 'group'> {
  if (user !== undefined && !ACCOUNT_NAME.test(user))
    throw invalidOption('--user', user, 'is not a user name')
  if (group !== undefined && !ACCOUNT_NAME.test(group))
    throw invalidOption('--group', group, 'is not a group name')
  const isRoot = user === undefined || user === 'root'
  if (isRoot && group !== undefined) throw new CliError('--group goes with a --user', EXIT.usage)
  return { user: isRoot ? undefined : user, group }
}

function parseVariables(
  { env = [], envFile = [] }: InstallOptions,
  system: InitSystem,
): Record<string, string> {
  const variables = { ...readEnvFiles(envFile), ...parseEnvEntries(env) }
  for (const [name, value] of Object.entries(variables)) {
    const fault = findVariableFault(name, value, system)
    if (fault !== undefined) throw new CliError(`The variable ${name}: ${fault}`, EXIT.usage)
  }
  return variables
}

/** The name of a unit or a script; with `.service` where the init system needs it. */
function parseUnitName(name: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9:_.@-]{0,255}$/.test(name)) return name
  throw invalidOption('--after', name, 'is not the name of a service')
}

/** Returns why a service would not see the variable as it is. The value may be a secret, so no message repeats it. */
function findVariableFault(name: string, value: string, system: InitSystem): string | undefined {
  if (!/^[A-Za-z_]\w*$/.test(name)) return 'its name is not letters, digits and _'
  if (system.launcher && SHELL_VARIABLES.includes(name))
    return 'the shell that starts the service reserves this name'
  // Some systems drop such a variable without an error.
  if (/[^\P{Cc}\t\n\u0080-\u009f]/u.test(value))
    return 'its value contains a control character other than tab and newline'
  return undefined
}

const invalidOption = (option: string, value: string, reason: string): CliError =>
  new CliError(`${option} ${JSON.stringify(value)} ${reason}`, EXIT.usage)
