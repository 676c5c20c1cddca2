/* Runs in the browser, after Swagger UI's bundle. */

const root = document.getElementById('page')
const session = document.getElementById('session')

const ui = globalThis.SwaggerUIBundle({
  domNode: root,
  url: new URL(root.dataset.document, location.href).href,
  // The layout without the bar that loads other documents.
  layout: 'BaseLayout',
  presets: [globalThis.SwaggerUIBundle.presets.apis],
  plugins: [
    // The page calls the address where it was opened: there is no server to choose.
    { components: { ServersContainer: () => null } },
    { statePlugins: { auth: { wrapActions: { authorize: showSession, logout: showNoSession } } } },
  ],
  deepLinking: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelExpandDepth: 3,
  defaultModelsExpandDepth: -1,
  validatorUrl: null,
  responseInterceptor: followSession,
})

/** The token of a login or of a refresh goes with all further requests, until a logout. */
function followSession(response) {
  const token = response.ok ? toObject(response.text).token : undefined
  if (claimsOf(token)) {
    const schema = { type: 'http', scheme: 'bearer' }
    ui.authActions.authorize({ bearer: { name: 'bearer', schema, value: token } })
  }
  if (response.status === 204 && /\/logout$/.test(new URL(response.url).pathname)) {
    ui.authActions.logout(['bearer'])
  }
  return response
}

function showSession(authorize) {
  return (given) => {
    const claims = claimsOf(given.bearer?.value)
    session.textContent = claims
      ? `Logged in as ${claims.data.name || claims.sub} (${claims.data.role})`
      : 'Token set'
    session.dataset.state = 'in'
    return authorize(given)
  }
}

function showNoSession(logout) {
  return (names) => {
    session.textContent = 'Not logged in'
    session.dataset.state = 'out'
    return logout(names)
  }
}

/** The payload of an access token; undefined for any other text. The token of a password reset is not one. */
function claimsOf(token) {
  const payload = String(token).split('.')[1]
  if (!payload) return undefined
  try {
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (char) =>
      char.charCodeAt(0),
    )
    const claims = toObject(new TextDecoder().decode(bytes))
    return claims.data ? claims : undefined
  } catch {
    return undefined
  }
}

function toObject(text) {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}

const dark = matchMedia('(prefers-color-scheme: dark)')
const followScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', followScheme)
followScheme()
