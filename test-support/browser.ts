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

/** Whether pages can be tested. REQUIRE_CHROMIUM=1 makes it an error that they cannot. */
export const hasBrowser = executablePath !== undefined

if (!hasBrowser && process.env.REQUIRE_CHROMIUM === '1')
  throw new Error('REQUIRE_CHROMIUM=1, but there is no Chromium; install it, or name it in CHROMIUM')

/** Timeout of an action or a navigation: a page that takes three seconds of processor time takes minutes on a busy machine. */
const TIMEOUT_MS = 240_000

/** Starts Chromium without a window. */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({
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
  })

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
  const network = await outliveNetworkChanges(context)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text())
  })
  page.on('pageerror', ({ message }) => {
    // The account pages load themselves again after that.
    if (!(network.hasChanged() && message.startsWith(LOST_MODULE))) faults.push(message)
  })
  page.on('request', (request) => {
    const url = new URL(request.url())
    if (url.protocol !== 'data:' && url.protocol !== 'blob:' && url.origin !== origin)
      faults.push(`${request.method()} ${url.href}`)
  })
  return { page, faults, [Symbol.asyncDispose]: () => context.close() }
}

const NETWORK_CHANGED = 'net::ERR_NETWORK_CHANGED'
const LOST_MODULE = 'Failed to fetch dynamically imported module'

/**
 * Chromium ends the requests that wait for a connection when an address of the machine changes, as each container that starts
 * or stops does. They were not sent; `fetch` of a page, `goto` and `reload` repeat them, and nothing else is repeated.
 */
async function outliveNetworkChanges(context: BrowserContext): Promise<{ hasChanged(): boolean }> {
  const ended: string[] = []
  let hasChanged = false
  context.on('requestfailed', (request) => {
    if (request.failure()?.errorText !== NETWORK_CHANGED) return
    hasChanged = true
    ended.push(request.url())
  })
  await context.exposeFunction('wasEndedByNetworkChange', (url: string) => {
    const index = ended.indexOf(url)
    return index >= 0 && ended.splice(index, 1).length > 0
  })
  await context.addInitScript(repeatFetches)
  context.on('page', (page) => {
    const [goto, reload] = [page.goto.bind(page), page.reload.bind(page)]
    page.goto = (url, options) => repeatNavigation(() => goto(url, options), url)
    page.reload = (options) => repeatNavigation(() => reload(options), page.url())
  })
  return { hasChanged: () => hasChanged }
}

/** The page of the error, and Chromium's own attempt to load it again, are navigations that may end the next one. */
async function repeatNavigation<T>(navigate: () => Promise<T>, url: string): Promise<T> {
  const ends = [NETWORK_CHANGED, 'navigation to "chrome-error:', `another navigation to "${url}`]
  for (;;)
    try {
      return await navigate()
    } catch (error) {
      if (!ends.some((end) => String(error).includes(end))) throw error
    }
}

/** Runs in each page, before its own scripts. */
function repeatFetches(): void {
  const { fetch: fetchOnce, wasEndedByNetworkChange } = globalThis as typeof globalThis & {
    wasEndedByNetworkChange(url: string): Promise<boolean>
  }
  globalThis.fetch = async (input, init) => {
    const request = new Request(input, init)
    for (;;)
      try {
        return await fetchOnce(request.clone())
      } catch (error) {
        if (!(error instanceof TypeError) || !(await wasEndedByNetworkChange(request.url))) throw error
      }
  }
}
