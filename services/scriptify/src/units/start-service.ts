import { setTimeout } from 'node:timers/promises'
import { CliError } from '../cli/cli-error.ts'
import { errorMessage } from '../cli/error-message.ts'
import { EXIT } from '../cli/exit-codes.ts'
import { type ControlCommand, controlAll } from './control.ts'
import type { InitSystem } from './init-system.ts'
import { lastLogLine, logOf } from './service-log.ts'

/** A class that cannot be loaded, and a first call that throws, end a service within this time. */
const SETTLING_MS = 1000

interface StartedService {
  readonly name: string
  readonly system: InitSystem
  readonly commands: readonly ControlCommand[]
  /** How the message of a failure begins. */
  readonly failure: string
}

/** Starts or restarts a service; throws exit code 1, with the reason, where it does not start or has failed a second later. */
export async function startService({ name, system, commands, failure }: StartedService): Promise<void> {
  const fail = (reason: string) =>
    new CliError(`${failure}: ${reason}; see ${logOf(name, system)}`, EXIT.failed)
  try {
    await controlAll(commands)
  } catch (error) {
    const line = await lastLogLine(name, system)
    const said = line === undefined ? '' : `; its log ends with ${JSON.stringify(line)}`
    throw fail(errorMessage(error) + said)
  }
  if (system.hasFailed === undefined) return
  await setTimeout(SETTLING_MS)
  if (!(await system.hasFailed(name))) return
  const line = await lastLogLine(name, system)
  throw fail(line === undefined ? 'it has ended' : `it has ended after ${JSON.stringify(line)}`)
}
