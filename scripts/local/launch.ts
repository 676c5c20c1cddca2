import { join } from 'node:path'
import { errorMessage } from '@latchkey/shared/errors/app-error.ts'
import type { Lifecycle, StopOptions } from '@latchkey/shared/lifecycle/run-service.ts'
import { parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import type { Environment } from '@latchkey/shared/settings/setting.ts'
import { hasDemoUsers } from '@latchkey/shared/users/demo-users.ts'
import { describePublishedPasswords } from '@latchkey/shared/users/published-password.ts'
import { writeAdminEnvironment } from './admin-environment.ts'
import { startLocalServices } from './local-services.ts'
import { prepareDatabase } from './prepare-database.ts'
import { environmentOfWorker, isMetricsPortTaken, requireFreePorts, withApiAddress } from './service-ports.ts'
import { openService, type ReadyMessage } from './service-process.ts'
import { describeAddresses, fromRoot } from './welcome.ts'

const SERVICES = join(import.meta.dirname, '..', '..', 'services')
const LOCAL_SERVICES_HINT =
  'Without DATABASE_URL, QUEUE_URL and MAIL_URL in the environment npm start brings its own.'
/** A start that takes longer says what it waits for. */
const PATIENCE_MS = 10_000
const STOP_OF_PREPARATION_MS = 5_000

const say = (text: string): void => void process.stdout.write(`${text}\n`)
const complain = (text: string): void => void process.stderr.write(`${text}\n`)

const logger: StopOptions['logger'] = {
  info: (_details, message) => message === 'stopped' && say('Stopped.'),
  error: complain,
  fatal: (_details, message) => complain(message),
}

/**
 * Starts all of Latchkey: the database and the inbox first, then the services, when the database has all that they need.
 * Prints the addresses once they are ready. `nodeOptions` are those of auth-api and mailer-worker.
 */
export async function launch(
  lifecycle: Lifecycle,
  settings: Environment,
  nodeOptions: readonly string[],
): Promise<void> {
  const startedAt = performance.now()
  const { SHUTDOWN_DELAY, SHUTDOWN_GRACE } = parseSettings(['SHUTDOWN_DELAY', 'SHUTDOWN_GRACE'], settings)
  // Each service ends itself within its time.
  const stopTimeoutMs = (SHUTDOWN_DELAY + SHUTDOWN_GRACE + 2) * 1000
  const timeoutMessage = 'Something took too long to stop, and is killed.'
  // A migration that waits for a lock need not come to its end.
  lifecycle.configureStop({ logger, timeoutMs: STOP_OF_PREPARATION_MS, timeoutMessage })
  const waitsFor = new Set(['the database'])
  setTimeout(() => waitsFor.size > 0 && say(describeWait([...waitsFor])), PATIENCE_MS).unref()

  await requireFreePorts(settings)
  const given = await withApiAddress(settings)
  const { environment, dataDir } = await startLocalServices(lifecycle, given)
  const adminFile = await lifecycle.open(
    () => writeAdminEnvironment(dataDir, environment),
    (file) => file.remove(),
  )
  const published = await prepareDatabase(environment).catch((error: unknown) => {
    throw withHint(error)
  })
  if (published.length > 0 && !hasDemoUsers(environment.APP_ENV)) {
    const refusal = describePublishedPasswords(published, environment.APP_ENV ?? '')
    if (given.DATABASE_URL) throw new Error(refusal)
    process.exitCode = 1
    return complain(`${refusal}\n${describeRunningDatabase(adminFile.path)}`)
  }

  lifecycle.configureStop({ logger, timeoutMs: 3 * stopTimeoutMs, timeoutMessage })
  const open = async (name: string, serviceEnvironment: Environment) => {
    const args = [...nodeOptions, join(SERVICES, name, 'src/main.ts')]
    const service = { name, args, environment: serviceEnvironment, stopTimeoutMs }
    const { ready } = await openService(lifecycle, service)
    waitsFor.add(name)
    const message = await ready
    waitsFor.delete(name)
    return message
  }
  const openWorker = async (): Promise<ReadyMessage> => {
    const ofWorker = await environmentOfWorker(environment)
    return open('mailer-worker', ofWorker).catch(async (error: unknown) => {
      // Another start took the port after it was found free.
      if (!(await isMetricsPortTaken(ofWorker))) throw error
      say('mailer-worker starts again on another port.')
      return openWorker()
    })
  }
  // Another start may have taken them by now.
  await requireFreePorts(given)
  const services = Promise.all([open('auth-api', environment), openWorker()])
  waitsFor.delete('the database')
  void services.then(([{ address = '' }]) => {
    const addresses = { environment, given, api: address, adminFile: adminFile.path, published }
    say(describeAddresses(addresses, Math.round(performance.now() - startedAt)))
  }, lifecycle.fail)
}

const describeWait = (names: string[]): string =>
  `Not ready after ${PATIENCE_MS / 1000} s: npm start waits for ${new Intl.ListFormat('en').format(names)}; its lines ` +
  `in this log say why. ${LOCAL_SERVICES_HINT} Ctrl-C stops everything.`

const describeRunningDatabase = (adminFile: string): string =>
  `Its database runs until Ctrl-C: in a second terminal, first enter \`. ${fromRoot(adminFile)}\`; then start again.`

/** A shell that read .data/environment still has the DATABASE_URL of a start that has ended. */
function withHint(error: unknown): unknown {
  const message = errorMessage(error)
  return message.includes('cannot be reached')
    ? new Error(`${message.replace(/\.?$/, '.')} ${LOCAL_SERVICES_HINT}`, { cause: error })
    : error
}
