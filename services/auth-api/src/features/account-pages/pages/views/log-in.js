import { api, session, settings } from '../api.js'
import { link, links } from '../element.js'
import { emailField, field, form, passwordField } from '../form.js'
import { texts } from '../language.js'
import { go } from '../router.js'

/** Logs in by password. `state.next` names the page to go on with. */
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
        session.start(data.token)
        await go(state.next ?? 'profile', null, { replace: true })
      } catch (problem) {
        if (problem.slug !== 'second-factor-required') throw problem
        await go('second-step', { challenge: problem.challenge, next: state.next })
      }
    },
  })
  const others = [link('forgot', texts.forgot), settings.signUp && link('signup', texts.signUp)]
  return { title: texts.logIn, content: [login, links(...others)] }
}
