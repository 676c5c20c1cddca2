import { client, settings } from '../api.js'
import { h, section } from '../element.js'
import { accountField, form, newPasswordField, passwordField } from '../form.js'
import { texts } from '../language.js'
import { refresh } from '../router.js'
import { factorSections } from './factors.js'

/** @import { Schemas } from '../api.js' */

/**
 * Shows what protects the account.
 * @param {{ profile: Schemas['Profile'] }} given
 */
export async function security({ profile }) {
  return {
    title: texts.security,
    content: [
      ...(settings.apps ? await factorSections() : []),
      section(texts.password, passwordForm(profile)),
    ],
  }
}

/** @param {Schemas['Profile']} user */
function passwordForm(user) {
  return form({
    fields: [
      accountField(user[settings.login_field]),
      passwordField('current_password', texts.currentPassword, 'current-password'),
      newPasswordField(),
      h('p', { class: 'hint' }, texts.endsOthers),
    ],
    button: texts.changePassword,
    async send({ current_password, password }) {
      await client.changePassword({ current_password, password })
      await refresh(texts.passwordChanged)
    },
  })
}
