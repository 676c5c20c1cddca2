import { readFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { CliError, EXIT, errorCode, errorMessage } from '../io/cli-error.ts'
import { requireReadableEnvFile } from './env-file.ts'
import type { ControlCommand, InitSystem, ServiceAction } from './init-system.ts'
import { inspectService, requireMark } from './inspect-service.ts'
import { type ListedService, listServices, serviceNotFound } from './list-services.ts'
import { environmentFile } from './paths.ts'
import { controlAll } from './run-command.ts'
import { lastLogLine, logOf } from './service-log.ts'
import { requireServiceName } from './service-name.ts'

/** Throws exit code 4 for every user but root. */
export function requireRoot(command: string): void {
  if (process.geteuid?.() === 0) return
  throw new CliError(`scriptify ${command} needs root: use sudo`, EXIT.notPermitted)
}

/** Starts, stops or restarts an installed service; throws exit code 2 where that is not possible. */
export async function controlService(
  name: string,
  action: ServiceAction,
  systems: readonly InitSystem[],
): Promise<void> {
  const system = await findServiceSystem(name, systems)
  const commands = system.controlCommands(name, action)
  const reason = system.reasonAgainst('start')
  if (reason !== undefined) throw new CliError(`${name} cannot be controlled: ${reason}`, EXIT.usage)
  requireRoot(action)
  if (action === 'stop') await controlAll(commands)
  else {
    await requireReadableEnvironment(environmentFile(name))
    await startService({ name, system, commands, failure: `${name} does not start` })
  }
}

/** Throws exit code 2 for a line of the environment file that was edited by hand and that init systems read differently. */
export async function requireReadableEnvironment(path: string): Promise<void> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'EACCES') return ''
    throw error
  })
  requireReadableEnvFile(text, path)
}

/** The init system of an installed service; throws as findService. */
export async function findServiceSystem(name: string, systems: readonly InitSystem[]): Promise<InitSystem> {
  const { template } = await findService(name, systems)
  const system = systems.find((known) => known.name === template)
  if (system === undefined) throw new Error(`${template} is not an init system`)
  return system
}

/** An installed service; throws exit code 2 for an invalid name, 3 for an unknown one. */
export async function findService(name: string, systems: readonly InitSystem[]): Promise<ListedService> {
  requireServiceName(name)
  const options = { root: '/', systems }
  const found = (await listServices(options)).find((service) => service.name === name)
  if (found !== undefined) return found
  requireMark(name, await inspectService(name, { ...options, trustsUnreadable: true }), systems)
  throw await serviceNotFound(name, options)
}

/** A class that cannot be loaded, and a first call that throws, end a service within this time. */
const SETTLING_MS = 1000
const FAILED = ['failed', 'restarting']

interface StartedService {
  readonly name: string
  readonly system: InitSystem
  readonly commands: readonly ControlCommand[]
  /** The beginning of the message of a failure. */
  readonly failure: string
}

/** Starts or restarts a service; throws exit code 1, with the reason, where it does not start or has failed a second later. */
export async function startService({ name, system, commands, failure }: StartedService): Promise<void> {
  const fail = (reason: string) =>
    new CliError(`${failure}: ${reason}; see ${logOf(name, system)}`, EXIT.failed)
  // A log tells whole seconds.
  const startedAt = Math.floor(Date.now() / 1000) * 1000
  const end = async () => (await describeEnd(name, system, startedAt)).join('; ')
  try {
    await controlAll(commands)
  } catch (error) {
    throw fail(`${errorMessage(error)}; ${await end()}`)
  }
  await setTimeout(SETTLING_MS)
  const { state } = await system.state(name)
  if (FAILED.includes(state)) throw fail(`it has ended; ${await end()}`)
}

/** Describes the end of the run since a time: a program that could not be executed has written nothing. */
async function describeEnd(name: string, system: InitSystem, since: number): Promise<string[]> {
  const { lastResult } = await system.state(name)
  const line = await lastLogLine(name, system, since)
  return [
    ...(lastResult === undefined || lastResult === 'success' ? [] : [lastResult]),
    ...(line === undefined ? [] : [`its log ends with ${JSON.stringify(line)}`]),
  ]
}
