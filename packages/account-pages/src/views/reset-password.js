import { client } from '../api.js'
import { h, link, links } from '../element.js'
import {
  accountField,
  againForm,
  countTries,
  emailField,
  form,
  mailedCodeField,
  newPasswordField,
} from '../form.js'
import { fillText, texts } from '../language.js'
import { go } from '../router.js'

/** @import { Page, State } from '../router.js' */

/**
 * Requests the mail with the code.
 * @param {{ state: State }} given
 */
export async function requestReset({ state }) {
  const email = emailField()
  if (state.email) email.control.value = state.email
  const request = form({
    fields: [email],
    button: texts.sendCode,
    keeps: ['email'],
    async send({ email: address }) {
      const requested = await client.requestReset({ email: address })
      await go('code', { email: address, token: requested.token })
    },
  })
  return {
    title: texts.forgot,
    content: [h('p', {}, texts.forgotHint), request, links(link('login', texts.back))],
  }
}

/**
 * Confirms the code of the mail. Without the e-mail, as in another tab, it is asked for: the code is enough with it.
 * @param {{ state: State }} given
 */
export async function confirmReset({ state: { email, token, code: mailed } }) {
  const confirm = form({
    fields: [...(email ? [] : [emailField()]), mailedCodeField(mailed)],
    button: texts.confirmCode,
    async send({ code, ...typed }) {
      const address = email ?? typed.email
      const body = { email: address, code, ...(token && { token }) }
      const confirmed = await countTries(client.confirmReset(body))
      await go('password', { email: address, token: confirmed.token }, { replace: true })
    },
  })
  const back = link('login', texts.back)
  if (!email)
    return { title: texts.confirm, content: [confirm, links(link('forgot', texts.anotherCode), back)] }
  const again = againForm(async () => {
    const requested = await client.requestReset({ email })
    await go('code', { email, token: requested.token }, { replace: true, status: texts.sentAgain })
  })
  // The page does not say if the address has an account.
  const sent = h('p', {}, fillText(texts.codeSent, { email }))
  return { title: texts.confirm, content: [sent, confirm, again, links(back)] }
}

/**
 * Sets the new password of a reset whose code is confirmed.
 * @param {{ state: State }} given
 * @returns {Promise<Page>}
 */
export async function setPassword({ state: { email, token } }) {
  if (!email || !token) return requestReset({ state: {} })
  const set = form({
    fields: [accountField(email), newPasswordField()],
    button: texts.setPassword,
    async send({ password }) {
      await client.resetPassword({ email, token, password })
      await go('login', { username: email }, { replace: true, status: texts.passwordSet })
    },
  })
  return { title: texts.newPassword, content: [set, links(link('forgot', texts.startAgain))] }
}
