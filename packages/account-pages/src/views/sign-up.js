import { client } from '../api.js'
import { h, link, links } from '../element.js'
import {
  againForm,
  countTries,
  emailField,
  field,
  form,
  mailedCodeField,
  newPasswordField,
  passwordField,
} from '../form.js'
import { currentLanguage, fillText, slugOf, texts } from '../language.js'
import { enter, go } from '../router.js'

/** @import { Schemas } from '../api.js' */
/** @import { Page, State } from '../router.js' */

const usernameField = () =>
  field('username', texts.username, { hint: texts.usernameHint, autocomplete: 'off', maxlength: '20' })

/** @type {Schemas['SignUp'] | undefined} What was last sent, for another code: the password is kept nowhere else. */
let sent

/** Requests an account. */
export async function signUp() {
  const request = form({
    fields: [
      field('name', texts.name, { autocomplete: 'name', autocapitalize: 'words', maxlength: '50' }),
      emailField(),
      usernameField(),
      newPasswordField(texts.password),
    ],
    button: texts.signUp,
    async send({ name, email, username, password }) {
      const language = currentLanguage()
      sent = { name, email, username, password, language }
      const { token } = await client.signUp(sent)
      await go('signup-code', { email, token })
    },
    keeps: ['name', 'email', 'username'],
  })
  return { title: texts.signUp, content: [request, links(link('login', texts.hasAccount))] }
}

/**
 * Creates the account by the code of the mail, under another username where the first has been taken.
 * @param {{ state: State }} given
 * @returns {Promise<Page>}
 */
export async function confirmSignUp({ state: { email, token, code: mailed } }) {
  if (!email || !token) return signUp()
  const other = usernameField()
  other.control.required = false
  other.element.hidden = true
  // A stranger can sign up with this address and another password, so a link needs the one of its sign-up.
  const password = mailed ? [passwordField('current_password', texts.signUpPassword, 'current-password')] : []
  const confirm = form({
    fields: [mailedCodeField(mailed), ...password, other],
    button: texts.createAccount,
    async send({ code, current_password: password, username }) {
      const renamed = username ? { username } : {}
      const body = { email, token, code, password, ...renamed }
      await countTries(client.confirmSignUp(body)).catch(offerUsername)
      sent = undefined
      await enter(texts.welcome)
    },
  })

  /**
   * @param {unknown} problem
   * @returns {never}
   */
  function offerUsername(problem) {
    if (slugOf(problem) === 'username-taken') {
      other.element.hidden = false
      other.control.required = true
    }
    throw problem
  }
  // The same for an e-mail that has an account: its owner gets another mail.
  const hint = h('p', {}, fillText(texts.mailSent, { email }))
  const request = sent?.email === email ? sent : undefined
  const again = againForm(async () => {
    // After a reload the password has to be typed again.
    if (!request) return go('signup')
    const requested = await client.signUp(request)
    await go('signup-code', { email, token: requested.token }, { replace: true, status: texts.sentAgain })
  })
  return {
    title: texts.confirm,
    content: [hint, confirm, again, links(link('signup', texts.startAgain), link('login', texts.logIn))],
  }
}
