import { client, settings } from '../api.js'
import { h, link, links } from '../element.js'
import { accountField, form, passwordField } from '../form.js'
import { fillText, texts } from '../language.js'
import { go } from '../router.js'

/** @import { Schemas } from '../api.js' */

/**
 * Deletes the account, where ACCOUNT_DELETION is not off.
 * @param {{ profile: Schemas['Profile'] }} given
 */
export async function deleteAccount({ profile: user }) {
  const remove = form({
    fields: [
      h('p', {}, fillText(texts.deleteWarning, { account: user.email ?? user.username ?? '' })),
      accountField(user[settings.login_field]),
      passwordField('current_password', texts.currentPassword, 'current-password'),
    ],
    button: texts.deleteButton,
    kind: 'danger',
    async send({ current_password }) {
      await client.deleteAccount({ current_password })
      await go('login', null, { replace: true, status: texts.deleted })
    },
  })
  return {
    title: texts.deleteTitle,
    content: [h('div', { class: 'card' }, remove), links(link('profile', texts.back))],
  }
}
