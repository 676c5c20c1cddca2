import { client, offersPasskeys } from '../api.js'
import { logInByPasskey } from '../client/passkeys.js'
import { link, links } from '../element.js'
import { factorField, form } from '../form.js'
import { texts } from '../language.js'
import { enter } from '../router.js'
import { logIn } from './log-in.js'

/** @import { Page, State } from '../router.js' */

/**
 * Takes the second step of a login: `state.challenge` is what the first was answered with.
 * @param {{ state: State }} given
 * @returns {Promise<Page>}
 */
export async function secondFactor({ state: { challenge, factors = [], next, remember = true } }) {
  if (!challenge) return logIn({ state: { next } })
  const answer = form({
    fields: [factorField()],
    button: texts.logIn,
    async send({ code }) {
      await client.secondFactor({ challenge, code, remember })
      await enter()
    },
  })
  const byPasskey = form({
    button: texts.usePasskey,
    async send() {
      await logInByPasskey(client, { challenge, remember })
      await enter()
    },
  })
  const passkeys = factors.includes('passkey') && offersPasskeys() ? [byPasskey] : []
  return { title: texts.secondStep, content: [...passkeys, answer, links(link('login', texts.startAgain))] }
}
