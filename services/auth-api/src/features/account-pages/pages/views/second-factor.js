import { api, session } from '../api.js'
import { link, links } from '../element.js'
import { factorField, form } from '../form.js'
import { texts } from '../language.js'
import { go } from '../router.js'

/** The second step of a login: `state.challenge` is what the first was answered with. */
export async function secondFactor({ state: { challenge, next } }) {
  const answer = form({
    fields: [factorField()],
    button: texts.logIn,
    async send({ code }) {
      const { data } = await api.POST('/login/secondfactor', { body: { challenge, code } })
      session.start(data.token)
      await go(next ?? 'profile', null, { replace: true })
    },
  })
  return { title: texts.secondStep, content: [answer, links(link('login', texts.startAgain))] }
}
