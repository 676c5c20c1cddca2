import { existsSync } from 'node:fs'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core'

const EXECUTABLES = [
  process.env.CHROMIUM,
  // The browser without its window costs half the processor time of one that hides it.
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

const executablePath = EXECUTABLES.find((path) => path !== undefined && existsSync(path))

/** True where pages can be tested. REQUIRE_CHROMIUM=1 makes it an error that they cannot. */
export const hasBrowser = executablePath !== undefined

if (!hasBrowser && process.env.REQUIRE_CHROMIUM === '1')
  throw new Error('REQUIRE_CHROMIUM=1, but there is no Chromium; install it, or name it in CHROMIUM')

/** Timeout of an action or a navigation: a page that takes three seconds of processor time takes minutes on a busy machine. */
const TIMEOUT_MS = 240_000

const LAUNCH = {
  ...(executablePath === undefined ? {} : { executablePath }),
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--disable-background-networking',
    '--disable-sync',
    // A page lives for a second, in which optimised code costs more than it saves.
    '--js-flags=--no-opt --single-threaded',
  ],
}

/** Starts Chromium without a window. */
export const openBrowser = (): Promise<Browser> => chromium.launch(LAUNCH)

/** Starts Chromium with what it has kept in a folder. */
export const openProfile = (folder: string): Promise<BrowserContext> =>
  chromium.launchPersistentContext(folder, LAUNCH)

export interface WatchedPage extends AsyncDisposable {
  page: Page
  /** Errors on the console, uncaught ones too, and requests to other origins than `origin`. */
  faults: string[]
}

/** Opens a page in a new context, and notes what goes wrong on it. */
export async function openPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext(options)
  context.setDefaultTimeout(TIMEOUT_MS)
  await sendFromNode(context)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text())
  })
  page.on('pageerror', ({ message }) => {
    faults.push(message)
  })
  page.on('request', (request) => {
    const url = new URL(request.url())
    if (url.protocol !== 'data:' && url.protocol !== 'blob:' && url.origin !== origin)
      faults.push(`${request.method()} ${url.href}`)
  })
  return { page, faults, [Symbol.asyncDispose]: () => context.close() }
}

/**
 * Node sends what a page asks for. Chromium ends a request that waits for a connection when an address of the machine changes,
 * as each container does that starts or stops. Playwright answers the preflights.
 */
async function sendFromNode(context: BrowserContext): Promise<void> {
  let isOffline = false
  const setOffline = context.setOffline.bind(context)
  context.setOffline = (offline) => {
    isOffline = offline
    return setOffline(offline)
  }
  await context.route(/^https?:/, async (route) => {
    if (isOffline) return route.abort('internetdisconnected')
    // The server may have ended before the page.
    const response = await route.fetch({ maxRedirects: 0, timeout: 0 }).catch(() => undefined)
    if (!response) return route.abort()
    // Playwright would allow each origin where the server allows none.
    const headers = { 'access-control-allow-origin': 'null', ...response.headers() }
    await route.fulfill({ response, headers })
  })
}
