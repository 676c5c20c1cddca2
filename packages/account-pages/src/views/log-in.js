import { client, offersPasskeys, settings } from '../api.js'
import { LatchkeyError } from '../client/client.js'
import { canOfferPasskeys, choosePasskey, logInByPasskey } from '../client/passkeys.js'
import { link, links } from '../element.js'
import { emailField, field, form, passwordField, tick } from '../form.js'
import { slugOf, texts } from '../language.js'
import { enter, go } from '../router.js'

/** @import { ChosenPasskey } from '../client/passkeys.js' */
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
  const stays = tick(texts.stayLoggedIn, texts.stayHint)
  const login = form({
    fields: [username, passwordField('password', texts.password, 'current-password'), stays.element],
    button: texts.logIn,
    keeps: ['username'],
    async send(credentials) {
      const remember = stays.control.checked
      try {
        await client.logIn({ ...credentials, remember })
        await enter()
      } catch (error) {
        if (!(error instanceof LatchkeyError) || slugOf(error) !== 'second-factor-required') throw error
        const { challenge, factors } = /** @type {Pick<State, 'challenge' | 'factors'>} */ (error.problem)
        await go('second-step', { challenge, factors, remember, next: state.next, code: state.code })
      }
    },
  })
  /** @type {ChosenPasskey | undefined} */
  let chosen
  const byPasskey = form({
    button: texts.logInByPasskey,
    kind: 'secondary',
    async send() {
      const credential = chosen
      chosen = undefined
      await logInByPasskey(client, { credential, remember: stays.control.checked })
      await enter()
    },
  })

  /** Lets the browser offer passkeys in the field of the username, until the page is left or the button is pressed. */
  async function offerPasskeys() {
    const renewal = setTimeout(() => byPasskey.isConnected && offerPasskeys(), RENEWAL_MS)
    chosen = await choosePasskey(client, { mediation: 'conditional' }).catch(() => undefined)
    clearTimeout(renewal)
    if (chosen && byPasskey.isConnected) byPasskey.requestSubmit()
  }
  if (offersPasskeys() && (await canOfferPasskeys())) void offerPasskeys()
  const others = [
    settings.mail_login && link('mail-login', texts.mailLogin),
    link('forgot', texts.forgot),
    settings.sign_up && link('signup', texts.signUp),
  ]
  return { title: texts.logIn, content: [login, ...(offersPasskeys() ? [byPasskey] : []), links(...others)] }
}
