import { api, settings } from '../api.js'
import { link, links } from '../element.js'
import { emailField, field, form, passwordField } from '../form.js'
import { texts } from '../language.js'
import { hasPasskeys, usePasskey } from '../passkey.js'
import { enter, go } from '../router.js'

/** Logs in by password, or by a passkey alone. `state.next` names the page to go on with. */
export async function logIn({ state }) {
  const byEmail = settings.loginField === 'email'
  const username = byEmail
    ? emailField('username')
    : field('username', texts.username, { autocomplete: 'username', clean: (text) => text })
  if (state.username) username.control.value = state.username
  const login = form({
    fields: [username, passwordField('password', texts.password, 'current-password')],
    button: texts.logIn,
    async send(credentials) {
      try {
        const { data } = await api.POST('/login', { body: credentials })
        await enter(data.token, state.next)
      } catch (problem) {
        if (problem.slug !== 'second-factor-required') throw problem
        const { challenge, factors } = problem
        await go('second-step', { challenge, factors, next: state.next })
      }
    },
  })
  const byPasskey = form({
    button: texts.logInByPasskey,
    kind: 'secondary',
    async send() {
      const credential = await usePasskey(await api.POST('/login/passkey/options', { body: {} }))
      const { data } = await api.POST('/login/passkey', { body: { credential } })
      await enter(data.token, state.next)
    },
  })
  const others = [link('forgot', texts.forgot), settings.signUp && link('signup', texts.signUp)]
  return { title: texts.logIn, content: [login, ...(hasPasskeys() ? [byPasskey] : []), links(...others)] }
}
