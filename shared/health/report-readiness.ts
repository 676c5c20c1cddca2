import { setTimeout as wait } from 'node:timers/promises'
import { hostsOf } from '../settings/setting.ts'
import type { Health, Readiness } from './readiness.ts'

export interface ReadinessReport {
  readiness: Pick<Readiness, 'read'>
  /** The URL of each check, whose host is logged, never its password. */
  urls: Readonly<Record<string, string>>
  logger: { info(details: object, message: string): void; warn(details: object, message: string): void }
  /** Returns the address on which the service listens. */
  address: () => string
}

const UNREADY_PAUSE_MS = 500
const READY_PAUSE_MS = 2_000
/** A wait is logged again after this number of looks, so that the end of a long log shows it too. */
const LOOKS_PER_REMINDER = 20

/**
 * Logs one line when the service becomes ready, and one at each change: what it waits for, or which dependency fails while
 * it is ready; then that all is well, with the number of requests that failed in the outage. A start that is ready at the
 * second look logs no wait.
 */
export function reportReadiness({ readiness, urls, logger, address }: ReadinessReport) {
  const abort = new AbortController()
  void run(abort.signal)

  async function run(signal: AbortSignal): Promise<void> {
    const log = createHealthLog({ urls, logger, address })
    for (;;) {
      const health = await readiness.read()
      if (signal.aborted) return
      log(health)
      const pauseMs = health.isReady && !health.isDegraded ? READY_PAUSE_MS : UNREADY_PAUSE_MS
      await wait(pauseMs, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  return {
    /** Logs nothing from here on, not even what a check that is still running finds. */
    stop: () => abort.abort(),
  }
}

/** Logs a look at the service's health when it says something new, or is due as a reminder. */
export function createHealthLog({ urls, logger, address }: Omit<ReadinessReport, 'readiness'>) {
  let logged = ''
  let looksSinceLog = 0
  let isFirst = true
  let wasReady = false
  let failuresBefore: Health['failures'] = {}

  function write(health: Health): void {
    const { isReady, isDegraded, checks, failures } = health
    const failed = countSince(failuresBefore, failures)
    if (!isReady) logger.warn({ checks, waitsFor: describeWaits(health, urls) }, 'not ready, waiting')
    else if (isDegraded) logger.warn({ checks, fails: describeWaits(health, urls) }, 'ready, degraded')
    else {
      logger.info({ address: address(), ...(failed > 0 ? { failed } : {}) }, 'ready')
      failuresBefore = failures
    }
  }

  return (health: Health): void => {
    const { isReady, isDegraded, checks } = health
    const now = JSON.stringify(checks)
    looksSinceLog++
    const isReminder = !isReady && looksSinceLog >= LOOKS_PER_REMINDER
    // Services that start together seldom reach each other at the first look.
    if ((now !== logged || isReminder) && ((isReady && !isDegraded) || !isFirst)) {
      logged = now
      looksSinceLog = 0
      write(health)
    }
    isFirst = false
    // For `npm start` and the tests, which spawn this process over IPC.
    if (isReady && !wasReady && process.connected) process.send?.({ ready: true, address: address() })
    wasReady ||= isReady
  }
}

const countSince = (before: Health['failures'], now: Health['failures']): number =>
  Object.entries(now).reduce((sum, [name, count]) => sum + count - (before[name] ?? 0), 0)

/** The setting that each check depends on. */
const URL_SETTINGS: Readonly<Record<string, string>> = {
  database: 'DATABASE_URL',
  queue: 'QUEUE_URL',
  mail: 'MAIL_URL',
}

function describeWaits({ checks, reasons }: Health, urls: ReadinessReport['urls']): string[] {
  return Object.entries(checks)
    .filter(([name, result]) => name !== 'service' && result !== 'ok')
    .map(([name, result]) => {
      const host = hostsOf(urls[name] ?? '')
      const reason = reasons[name]
      const setting = URL_SETTINGS[name]
      return `${name}${host ? ` at ${host}` : ''}${setting ? ` (${setting})` : ''}: ${result}${reason ? ` (${reason})` : ''}`
    })
}
