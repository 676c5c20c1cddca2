import { join } from 'node:path'
import { AppError, errorMessage } from '@latchkey/shared/app-error.ts'
import { ExtensionError } from '@latchkey/shared/extensions/find-extensions.ts'
import { CONFIG_DIR } from '@latchkey/shared/settings/environment.ts'
import type { Environment } from '@latchkey/shared/settings/setting.ts'
import { EXIT_CONFIGURATION, SettingsError } from '@latchkey/shared/settings/settings-error.ts'
import { describePublishedPasswords } from '@latchkey/shared/users/published-password.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { ENVIRONMENTS, writeCredentials } from '../release/credentials-file.ts'
import { writeAdminEnvironment } from './admin-environment.ts'
import { loadLaunchEnvironment } from './launch-settings.ts'
import { dataDirOf, type Stop, startLocalServices } from './local-services.ts'
import { prepareDatabase } from './prepare-database.ts'
import { environmentOfWorker, refuseTakenPorts, withApiAddress } from './service-ports.ts'
import { type ServiceProcess, startService } from './service-process.ts'
import { type Addresses, describeAddresses, fromRoot } from './welcome.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const LOCAL_SERVICES_HINT =
  'Without DATABASE_URL, QUEUE_URL and MAIL_URL in the environment npm start brings its own.'

/**
 * Starts all of Latchkey and runs until a signal or until a service ends; returns the exit code. Stops every service that
 * it started, the last one first, however it ends. `nodeOptions` are those of auth-api and mailer-worker.
 */
export async function launch(
  processEnvironment: NodeJS.ProcessEnv,
  nodeOptions: readonly string[] = [],
): Promise<number> {
  const startedAt = performance.now()
  const signalled = untilSignal()
  const stops: Stop[] = []
  try {
    const starting = start(processEnvironment, stops, nodeOptions)
    const running = await Promise.race([starting, signalled])
    if (!running) {
      // A service that is starting registers its stop once it has started.
      await starting.catch(() => undefined)
      return 0
    }
    if ('refusal' in running) {
      complain(running.refusal)
      if (running.isDatabaseOurs) await signalled
      return 1
    }
    say(describeAddresses(running, Math.round(performance.now() - startedAt)))
    const reason = await Promise.race([signalled, running.ended])
    if (!reason) return 0
    complain(`${reason} Everything is stopped.`)
    return 1
  } catch (error) {
    complain(errorMessage(error))
    return error instanceof SettingsError || error instanceof ExtensionError ? EXIT_CONFIGURATION : 1
  } finally {
    for (const stop of stops.reverse()) await stop().catch((error: unknown) => complain(String(error)))
    if (stops.length > 0) say('Stopped.')
  }
}

/** Waits for a signal. Not by `once`: npm forwards Ctrl-C, and the second signal would kill a launcher that is stopping. */
function untilSignal(): Promise<undefined> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => resolve(undefined))
  })
}

interface Running extends Addresses {
  /** Resolves with the reason when a service ends by itself. */
  ended: Promise<string>
}

interface Refused {
  refusal: string
  /** The embedded database runs on, because the refusal names a command that needs it. */
  isDatabaseOurs: boolean
}

async function start(
  processEnvironment: NodeJS.ProcessEnv,
  stops: Stop[],
  nodeOptions: readonly string[],
): Promise<Running | Refused> {
  for (const name of ENVIRONMENTS) {
    if (await writeCredentials(CONFIG_DIR, name)) say(`Generated secrets: config/${name}/credentials.env`)
  }
  const settings = await loadLaunchEnvironment(processEnvironment)
  await refuseTakenPorts(settings)
  const given = await withApiAddress(settings)

  const { environment, inbox, databaseEnded } = await startLocalServices(given, stops)
  const startOne = (name: string, serviceEnvironment: Environment) => {
    const file = join(ROOT, 'services', name, 'src/main.ts')
    const service = startService(name, file, serviceEnvironment, nodeOptions)
    stops.push(service.stop)
    return service
  }
  const api = startOne('auth-api', environment)
  const services = [api, startOne('mailer-worker', await environmentOfWorker(environment))]
  const adminFile = given.DATABASE_URL ? undefined : writeAdminFile(environment, stops)
  // The services load at the same time; they are ready once the tables exist.
  const accounts = await prepareDatabase(environment).catch((error: unknown) => {
    throw given.DATABASE_URL ? withHint(error) : error
  })
  if (accounts.length > 0) return describeRefusal(accounts, environment, adminFile)
  if (inbox) services.push(inbox)
  await Promise.all(services.map(untilReady))
  const { address = '' } = await api.ready
  return {
    environment,
    api: address,
    hasInbox: inbox !== undefined,
    adminFile,
    ended: Promise.race([
      databaseEnded,
      ...services.map(async ({ name, exited }) => `${name} ended with ${await exited}.`),
    ]),
  }
}

function describeRefusal(accounts: User[], { APP_ENV = '' }: Environment, adminFile?: string): Refused {
  const reason = describePublishedPasswords(accounts, APP_ENV)
  if (!adminFile) return { refusal: reason, isDatabaseOurs: false }
  const how = `Its database runs until Ctrl-C: in a second terminal, first enter \`. ${fromRoot(adminFile)}\`; then start again.`
  return { refusal: `${reason}\n${how}`, isDatabaseOurs: true }
}

/** A shell that read .data/environment still has the DATABASE_URL of a start that has ended. */
function withHint(error: unknown): unknown {
  const isUnavailable = error instanceof AppError && error.code === 'unavailable'
  return isUnavailable ? new Error(`${error.message}. ${LOCAL_SERVICES_HINT}`, { cause: error }) : error
}

async function untilReady(service: ServiceProcess): Promise<void> {
  try {
    await service.ready
  } catch (cause) {
    const reason = errorMessage(cause)
    throw new Error(`${service.name} ${reason}; its own message is above.`, { cause })
  }
}

function writeAdminFile(environment: Environment, stops: Stop[]): string {
  const file = writeAdminEnvironment(dataDirOf(environment), environment)
  stops.push(async () => file.remove())
  return file.path
}

const say = (text: string): void => void process.stdout.write(`${text}\n`)
const complain = (text: string): void => void process.stderr.write(`${text}\n`)
