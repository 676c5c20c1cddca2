import { client } from '../api.js'
import { h, link, links } from '../element.js'
import { emailField, field, form, mailedCodeField, newPasswordField, passwordField } from '../form.js'
import { currentLanguage, fillText, slugOf, texts } from '../language.js'
import { enter, go } from '../router.js'

/** @import { Page, State } from '../router.js' */

const usernameField = () =>
  field('username', texts.username, { hint: texts.usernameHint, autocomplete: 'off', maxlength: '20' })

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
      const { token } = await client.signUp({ name, email, username, password, language })
      await go('signup-code', { email, token })
    },
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
      await client.confirmSignUp({ email, token, code, password, ...renamed }).catch(offerUsername)
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
  const sent = h('p', {}, fillText(texts.mailSent, { email }))
  return {
    title: texts.confirm,
    content: [sent, confirm, links(link('signup', texts.startAgain), link('login', texts.logIn))],
  }
}
