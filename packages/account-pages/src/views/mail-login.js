import { client } from '../api.js'
import { LatchkeyError } from '../client/client.js'
import { h, link, links } from '../element.js'
import { emailField, form, mailedCodeField, tick } from '../form.js'
import { fillText, slugOf, texts } from '../language.js'
import { enter, go } from '../router.js'

/** @import { Page, State } from '../router.js' */

/**
 * Requests the mail with a code to log in with.
 * @param {{ state: State }} given
 */
export async function requestLoginCode({ state: { email: known, next } }) {
  const email = emailField()
  if (known) email.control.value = known
  const request = form({
    fields: [email],
    button: texts.sendCode,
    async send({ email: address }) {
      const { token } = await client.requestLoginCode({ email: address })
      await go('mail-code', { email: address, token, next })
    },
  })
  return {
    title: texts.mailLogin,
    content: [h('p', {}, texts.mailLoginHint), request, links(link('login', texts.back))],
  }
}

/**
 * Logs in by the code of the mail. A link fills it in, and the page names its account: a stranger can send a link to their own.
 * @param {{ state: State }} given
 * @returns {Promise<Page>}
 */
export async function confirmLoginCode({ state: { email, token, code: mailed, next } }) {
  if (!email || !token) return requestLoginCode({ state: { email, next } })
  const stays = tick(texts.stayLoggedIn, texts.stayHint)
  const confirm = form({
    fields: [mailedCodeField(mailed), stays.element],
    button: texts.logIn,
    async send({ code }) {
      const remember = stays.control.checked
      try {
        await client.confirmLoginCode({ email, token, code, remember })
        await enter()
      } catch (error) {
        if (!(error instanceof LatchkeyError) || slugOf(error) !== 'second-factor-required') throw error
        const { challenge, factors } = /** @type {Pick<State, 'challenge' | 'factors'>} */ (error.problem)
        await go('second-step', { challenge, factors, remember, next })
      }
    },
  })
  const sent = mailed ? fillText(texts.mailLoginAs, { email }) : fillText(texts.codeSent, { email })
  return {
    title: texts.mailLogin,
    content: [
      h('p', {}, sent),
      confirm,
      links(link('mail-login', texts.anotherCode), link('login', texts.back)),
    ],
  }
}
