import { api, settings } from '../api.js'
import { link, links } from '../element.js'
import { emailField, field, form, passwordField } from '../form.js'
import { texts } from '../language.js'
import { canOfferPasskeys, hasPasskeys, usePasskey } from '../passkey.js'
import { Problem } from '../problem.js'
import { enter, go } from '../router.js'

/** @import { State } from '../router.js' */

/** Before the options of an offer expire, which live five minutes. */
const RENEWAL_MS = 240_000

/**
 * Logs in by password, or by a passkey alone.
 * @param {{ state: State }} given
 */
export async function logIn({ state }) {
  const byEmail = settings.login_field === 'email'
  const autocomplete = 'username webauthn'
  const username = byEmail
    ? emailField('username', texts.email, { autocomplete })
    : field('username', texts.username, { autocomplete, clean: (text) => text })
  if (state.username) username.control.value = state.username
  const login = form({
    fields: [username, passwordField('password', texts.password, 'current-password')],
    button: texts.logIn,
    async send(credentials) {
      try {
        const { data } = await api.POST('/login', { body: credentials })
        await enter(data.token, state.next)
      } catch (problem) {
        if (!(problem instanceof Problem) || problem.slug !== 'second-factor-required') throw problem
        const { challenge, factors } = /** @type {Pick<State, 'challenge' | 'factors'>} */ (problem.members)
        await go('second-step', { challenge, factors, next: state.next, code: state.code })
      }
    },
  })
  /** @param {CredentialMediationRequirement} [mediation] */
  const askForPasskey = async (mediation) =>
    usePasskey(await api.POST('/login/passkey/options', { body: {} }), mediation)
  /** @type {Awaited<ReturnType<typeof usePasskey>> | undefined} */
  let chosen
  const byPasskey = form({
    button: texts.logInByPasskey,
    kind: 'secondary',
    async send() {
      const credential = chosen ?? (await askForPasskey())
      chosen = undefined
      const { data } = await api.POST('/login/passkey', { body: { credential } })
      await enter(data.token, state.next)
    },
  })

  /** Lets the browser offer passkeys in the field of the username, until the page is left or the button is pressed. */
  async function offerPasskeys() {
    const renewal = setTimeout(() => byPasskey.isConnected && offerPasskeys(), RENEWAL_MS)
    chosen = await askForPasskey('conditional').catch(() => undefined)
    clearTimeout(renewal)
    if (chosen && byPasskey.isConnected) byPasskey.requestSubmit()
  }
  if (await canOfferPasskeys()) void offerPasskeys()
  const others = [link('forgot', texts.forgot), settings.sign_up && link('signup', texts.signUp)]
  return { title: texts.logIn, content: [login, ...(hasPasskeys() ? [byPasskey] : []), links(...others)] }
}
