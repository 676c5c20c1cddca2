import { client, settings } from '../api.js'
import { h, link, section } from '../element.js'
import { againForm, countTries, emailField, field, form, mailedCodeField, passwordField } from '../form.js'
import { fillText, LANGUAGES, setLanguage, texts } from '../language.js'
import { refresh } from '../router.js'

/** @import { Schemas } from '../api.js' */
/** @import { Field } from '../form.js' */
/** @import { Language } from '../language.js' */
/** @import { State } from '../router.js' */

/**
 * Shows the name, the language and the e-mail of the user.
 * @param {{ profile: Schemas['Profile'], state: State }} given
 */
export async function profile({ profile: user, state: { code } }) {
  return {
    title: texts.profile,
    content: [
      section(texts.about, aboutForm(user)),
      section(texts.emailTitle, ...emailForms(user, code)),
      ...(settings.deletion
        ? [
            section(
              texts.deleteTitle,
              h('p', {}, texts.deleteHint),
              h('p', {}, link('delete', texts.deleteLink)),
            ),
          ]
        : []),
    ],
  }
}

/** @param {Schemas['Profile']} user */
function aboutForm({ name, username, language }) {
  const options = Object.entries(LANGUAGES).map(([value, text]) =>
    h('option', { value, lang: value, selected: value === language }, text),
  )
  return form({
    fields: [
      ...(username === null ? [] : [h('p', {}, `${texts.username}: `, h('strong', {}, username))]),
      field('name', texts.name, {
        value: name ?? '',
        autocomplete: 'name',
        autocapitalize: 'words',
        maxlength: '50',
        required: false,
      }),
      field('language', texts.language, { input: h('select', { name: 'language' }, ...options) }),
    ],
    button: texts.save,
    async send(change) {
      const language = /** @type {Language} */ (change.language)
      const saved = await client.updateProfile({ name: change.name, language })
      await setLanguage(saved.language)
      await refresh(texts.saved)
    },
  })
}

/**
 * @param {Schemas['Profile']} user
 * @param {string | undefined} code
 */
function emailForms({ email, pending_email: pending }, code) {
  const next = emailField('email', texts.newEmail, { autocomplete: 'email' })
  const password = passwordField('current_password', texts.currentPassword, 'current-password')
  const change = changeForm(email, settings.confirms_email ? [next, password] : [next])
  if (!pending) return [change]
  // Another code is another change, which takes the password again.
  const again = againForm(async () => {
    next.control.value = pending
    password.control.focus()
  })
  return [confirmForm(pending, code), again, change]
}

/**
 * @param {string | null} email
 * @param {Field<'email' | 'current_password'>[]} fields
 */
const changeForm = (email, fields) =>
  form({
    fields: [h('p', {}, `${texts.email}: `, h('strong', {}, email ?? '–')), ...fields],
    button: texts.changeEmail,
    kind: 'secondary',
    async send(change) {
      const { pending_email: email } = await client.updateProfile(change)
      history.replaceState(null, '')
      await refresh(email ? fillText(texts.codeSentTo, { email }) : texts.emailChanged)
    },
  })

/**
 * Confirms the new e-mail, also after a reload or on another device.
 * @param {string} email
 * @param {string | undefined} code
 */
function confirmForm(email, code) {
  return form({
    fields: [h('p', {}, fillText(texts.pending, { email })), mailedCodeField(code)],
    button: texts.confirmEmail,
    async send(body) {
      await countTries(client.confirmEmail(body))
      await refresh(texts.emailChanged)
    },
  })
}
