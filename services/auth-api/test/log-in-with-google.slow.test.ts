import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { findFreePort } from '@latchkey/test-support/free-port.ts'
import { apiOf, npmStart, ownSettings, ROOT, WITHOUT_INBOX } from '@latchkey/test-support/npm-start.ts'
import { decodeJwt } from 'jose'
import { expect, it } from 'vitest'
import { readSnippets } from '../../../scripts/docs/snippets.ts'

const [START = '', BEGIN = '', EXCHANGE = ''] = readSnippets(ROOT, 'docs/how-to/log-in-with-google.md')
  .filter(({ language, plan }) => language === 'sh' && plan?.kind === 'run by')
  .map(({ text }) => text)

/** Follows an address as a browser does, and fills in the forms of the provider; returns the address with the code. */
async function logInAt(address: string, person: string): Promise<URL> {
  const jar = new Map<string, string>()
  let url = new URL(address)
  let body: URLSearchParams | undefined
  for (let step = 0; step < 20; step++) {
    const response = await fetch(url, {
      method: body ? 'POST' : 'GET',
      redirect: 'manual',
      headers: { cookie: [...jar].map((pair) => pair.join('=')).join('; ') },
      ...(body && { body }),
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = ''] = cookie.split(';', 1)
      const at = pair.indexOf('=')
      jar.set(pair.slice(0, at), pair.slice(at + 1))
    }
    body = undefined
    const location = response.headers.get('location')
    const html = await response.text()
    if (location) url = new URL(location, url)
    else {
      const [, action = ''] = /<form[^>]* action="([^"]+)"/.exec(html) ?? []
      const [, prompt = ''] = /name="prompt" value="(\w+)"/.exec(html) ?? []
      url = new URL(action, url)
      body = new URLSearchParams({ prompt, login: person, password: 'any' })
    }
    if (url.searchParams.has('code') && url.pathname === '/account/') return url
  }
  throw new Error(`The login ended at ${url}`)
}

it('takes a user of the page from one command to a token', async () => {
  await using own = await ownSettings()
  const settings = { ...own.settings, ...WITHOUT_INBOX, PROVIDER_PORT: String(await findFreePort()) }
  await using start = npmStart(settings, START.trim())
  await start.untilReady()
  const api = apiOf(start)
  const run = (script: string, input = '') => {
    const running = promisify(execFile)('bash', ['-ec', script.replaceAll('http://localhost:8080', api)])
    running.child.stdin?.end(input)
    return running
  }
  const { stdout } = await run(`${BEGIN}\necho "$VERIFIER"`)
  const [verifier = '', address = ''] = stdout.trim().split('\n').reverse()
  expect(stdout).toContain('{"providers":[{"name":"example","label":"Example"}]}')
  const back = await logInAt(address, 'ada@example.com')
  expect(back.searchParams.get('state')).toBe('1')
  const exchange = `API=${api}; VERIFIER=${verifier}\n${EXCHANGE}`
  const { stdout: answer } = await run(exchange, `${back.searchParams.get('code')}\n`)
  const { token } = JSON.parse(answer)
  expect(decodeJwt(token)).toMatchObject({ amr: ['fed'], data: { name: 'ada@example.com' } })
}, 120_000)
