import { createSession } from './session.js'

const api = document.querySelector('meta[name="latchkey-api"]').content
const session = createSession({ api, onChange: show })
const reset = {}
const signUp = {}

const forms = {
  login: ({ username, password }) => session.logIn(username, password),
  rename: async ({ name }) => showProfile(await session.request('PUT', '/profile', { name })),
  'change-password': async ({ currentPassword, password }) => {
    await session.changePassword(currentPassword, password)
    say('The password is changed. Other devices have to log in again.')
  },
  'change-email': async ({ email, currentPassword }) => {
    const profile = await session.request('PUT', '/profile', { email, currentPassword })
    showProfile(profile)
    say(profile.pendingEmail ? '' : 'The e-mail is changed.')
  },
  'confirm-email': async ({ code }) => {
    showProfile(await session.request('POST', '/profile/confirmemail', { code }))
    say('The e-mail is changed. Other devices have to log in again.')
  },
  'sign-up': async (account) => {
    const { token } = await session.request('POST', '/signup', account).catch(explainClosed)
    Object.assign(signUp, { email: account.email, token })
    offerUsername(false)
    // The answer is the same for an e-mail that has an account: its owner gets another mail.
    showStep('confirm-sign-up', `We have sent a mail to ${account.email}.`)
  },
  'confirm-sign-up': async ({ code, username }) => {
    try {
      await session.confirmSignUp({ ...signUp, code, username })
    } catch (problem) {
      if (problem.type === 'urn:latchkey:problem:username-taken') offerUsername(true)
      throw problem
    }
  },
  forgot: async ({ email }) => {
    const { token } = await session.request('POST', '/login/resetrequest', { email })
    Object.assign(reset, { email, token })
    showStep('code', 'If this address has an account, a code is on its way.')
  },
  code: async ({ code }) => {
    const { email, token } = reset
    Object.assign(reset, await session.request('POST', '/login/confirmcode', { email, token, code }))
    showStep('password', 'Choose a new password.')
  },
  password: async ({ password }) => {
    await session.request('POST', '/login/resetpassword', { ...reset, password })
    showStep('login', 'The password is changed. Log in with the new one.')
  },
}

for (const form of document.forms) {
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    say('')
    try {
      await forms[form.id](Object.fromEntries(new FormData(form)))
      form.reset()
    } catch (problem) {
      say(await describe(problem))
    }
  })
}
document.querySelector('#logout').addEventListener('click', () => session.logOut())
document
  .querySelector('#logout-everywhere')
  .addEventListener('click', () => session.logOut({ everywhere: true }))
for (const link of document.querySelectorAll('[data-step]'))
  link.addEventListener('click', () => showStep(link.dataset.step, ''))

session.resume()
await show(session.isLoggedIn())

async function show(isLoggedIn) {
  document.body.dataset.state = isLoggedIn ? 'in' : 'out'
  if (!isLoggedIn) return showStep('login', '')
  try {
    showProfile(await session.request('GET', '/profile'))
  } catch (problem) {
    say(await describe(problem))
  }
}

function showProfile({ name, email, role, pendingEmail }) {
  document.querySelector('#name').textContent = name ?? ''
  document.querySelector('#account').textContent = `${email}, ${role}`
  document.querySelector('#confirm-email').hidden = pendingEmail === undefined
  document.querySelector('#pending').textContent = `A code is on its way to ${pendingEmail}.`
}

/** Without SIGN_UP=on the server does not have the route. */
function explainClosed(problem) {
  throw problem.status === 404 ? { title: 'Nobody can sign up at this server.' } : problem
}

/** The code of a sign-up can be used again with another username, where the first is taken. */
function offerUsername(isOffered) {
  const field = document.querySelector('#other-username')
  field.hidden = field.disabled = !isOffered
}

function showStep(id, text) {
  for (const form of document.querySelectorAll('#out form')) form.hidden = form.id !== id
  say(text)
}

/** What a problem says to a user (RFC 9457); an error of the network has no title. */
async function describe({ title, detail, errors = [], violations = [] }) {
  if (!title) return 'The server cannot be reached.'
  const faults = errors.map(({ path, message }) => `${path} ${message}`)
  return [detail ?? title, ...faults, ...(await describeRules(violations))].join(' · ')
}

/** The sentences of the password rules that were broken, in the language of the browser. */
async function describeRules(violations) {
  if (violations.length === 0) return []
  const { rules } = await session.request('GET', '/password-policy').catch(() => ({ rules: [] }))
  return violations.map(({ rule }) => rules.find((each) => each.rule === rule)?.text ?? rule)
}

function say(text) {
  document.querySelector('#message').textContent = text
}
