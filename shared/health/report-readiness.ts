import { setTimeout as wait } from 'node:timers/promises'
import type { Health, Readiness } from './readiness.ts'

export interface ReadinessReport {
  readiness: Pick<Readiness, 'read'>
  /** The URL that each check is about: the log names its host, never its password. */
  urls: Readonly<Record<string, string>>
  logger: { info(details: object, message: string): void; warn(details: object, message: string): void }
  /** Where the service listens, once it does. */
  address: () => string
}

const UNREADY_PAUSE_MS = 500
const READY_PAUSE_MS = 2_000
/** A wait is named again after so many looks, so that the end of a long log says it too. */
const LOOKS_PER_REMINDER = 20

/**
 * Logs when the service becomes ready, what it waits for while it is not, and each change of either; but nothing of a
 * start that is ready at the second look, because what starts beside it is seldom there at the first.
 */
export function reportReadiness({ readiness, urls, logger, address }: ReadinessReport) {
  const abort = new AbortController()
  const running = run()

  async function run(): Promise<void> {
    let said = ''
    let looks = 0
    let isFirst = true
    let wasReady = false
    while (!abort.signal.aborted) {
      const health = await readiness.read()
      const { isReady, checks } = health
      const now = JSON.stringify(checks)
      const isNews = now !== said || (!isReady && ++looks % LOOKS_PER_REMINDER === 0)
      const isTooSoon = isFirst && !isReady
      isFirst = false
      if (isNews && !isTooSoon && !abort.signal.aborted) {
        said = now
        looks = 0
        if (isReady) logger.info({ address: address() }, 'ready')
        else logger.warn({ checks, waitsFor: describeWaits(health, urls) }, 'not ready, waiting')
      }
      // `npm start` and the tests hear it too.
      if (isReady && !wasReady) process.send?.({ ready: true, address: address() })
      wasReady ||= isReady
      const pauseMs = isReady ? READY_PAUSE_MS : UNREADY_PAUSE_MS
      await wait(pauseMs, undefined, { signal: abort.signal, ref: false }).catch(() => undefined)
    }
  }

  return {
    /** Resolves when the last look is over. */
    async stop(): Promise<void> {
      abort.abort()
      await running
    },
  }
}

function describeWaits({ checks, reasons }: Health, urls: ReadinessReport['urls']): string[] {
  return Object.entries(checks)
    .filter(([, result]) => result !== 'ok')
    .map(([name, result]) => {
      const host = hostIn(urls[name])
      const reason = reasons[name]
      return `${name}${host ? ` at ${host}` : ''}: ${result}${reason ? ` (${reason})` : ''}`
    })
}

const hostIn = (url: string | undefined): string => (url && URL.canParse(url) ? new URL(url).host : '')
