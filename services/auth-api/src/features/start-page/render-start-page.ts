import { DEMO_PASSWORD, DEMO_USERS } from '@latchkey/shared/users/demo-users.ts'

/** The contents of the page. */
export interface StartPage {
  environment: string
  /** True where there is `/docs`. */
  hasDocs: boolean
  /** True where there is `/account/`. */
  hasAccountPages: boolean
  /** The address under which the page was requested. */
  url: string
  /** The page of the mail inbox; undefined where mail goes to a real server. */
  inboxUrl: string | undefined
  /** 0 where the system has chosen it. */
  metricsPort: number
  loginField: 'email' | 'username'
}

const STYLE = `
  :root { color-scheme: light dark }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 3rem auto; padding: 0 1rem }
  a { color: inherit }
  dt { font-weight: 600 } dd { margin: 0 0 .75rem }
  pre { padding: .75rem; white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid; border-radius: 4px }`

/** The page of `/` in dev and test, for a developer who has just started Latchkey. */
export function renderStartPage(page: StartPage): string {
  const rows = listAddresses(page).map(([term, details]) => `<dt>${term}</dt><dd>${details}</dd>`)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Latchkey</title>
<style>${STYLE}
</style>
</head>
<body>
<main>
<h1>Latchkey runs</h1>
<p>A login and token service, in the environment ${escapeHtml(page.environment)}.</p>
<dl>
${rows.join('\n')}
</dl>
<h2>Log in</h2>
<pre>${escapeHtml(firstCommand(page))}</pre>
</main>
</body>
</html>
`
}

function listAddresses({ hasDocs, hasAccountPages, inboxUrl, metricsPort, url }: StartPage): string[][] {
  const docs = hasDocs ? '<a href="docs">/docs</a>, to try requests; ' : ''
  const metrics = metricsPort > 0 && URL.parse(`http://${URL.parse(url)?.hostname}:${metricsPort}/metrics`)
  return [
    ['API', `${docs}<a href="openapi.json">/openapi.json</a>`],
    ...(hasAccountPages
      ? [['Account pages', '<a href="account/">/account/</a>, where users log in and manage their account']]
      : []),
    ...(inboxUrl ? [['Mail inbox', `${link(inboxUrl)}, where every mail of this environment lands`]] : []),
    ...(metrics ? [['Metrics', link(metrics.href)]] : []),
    ['Health', '<a href="health/ready">/health/ready</a>'],
    ['Demo users', DEMO_USERS.map(({ email, role }) => `${email} (${role})`).join(', ')],
  ]
}

function firstCommand({ url, loginField }: StartPage): string {
  const body = JSON.stringify({ username: DEMO_USERS[1][loginField], password: DEMO_PASSWORD })
  return `curl -s ${url}/login -H 'Content-Type: application/json' \\\n  -d '${body}'`
}

const link = (url: string): string => `<a href="${escapeHtml(url)}">${escapeHtml(url)}</a>`

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
