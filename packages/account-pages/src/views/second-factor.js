import { api } from '../api.js'
import { link, links } from '../element.js'
import { factorField, form } from '../form.js'
import { texts } from '../language.js'
import { hasPasskeys, usePasskey } from '../passkey.js'
import { enter } from '../router.js'
import { logIn } from './log-in.js'

/** @import { Page, State } from '../router.js' */

/**
 * Takes the second step of a login: `state.challenge` is what the first was answered with.
 * @param {{ state: State }} given
 * @returns {Promise<Page>}
 */
export async function secondFactor({ state: { challenge, factors = [], next } }) {
  if (!challenge) return logIn({ state: { next } })
  const answer = form({
    fields: [factorField()],
    button: texts.logIn,
    async send({ code }) {
      const { data } = await api.POST('/login/secondfactor', { body: { challenge, code } })
      await enter(data.token, next)
    },
  })
  const byPasskey = form({
    button: texts.usePasskey,
    async send() {
      const credential = await usePasskey(await api.POST('/login/passkey/options', { body: { challenge } }))
      const { data } = await api.POST('/login/passkey', { body: { credential } })
      await enter(data.token, next)
    },
  })
  const passkeys = factors.includes('passkey') && hasPasskeys() ? [byPasskey] : []
  return { title: texts.secondStep, content: [...passkeys, answer, links(link('login', texts.startAgain))] }
}
