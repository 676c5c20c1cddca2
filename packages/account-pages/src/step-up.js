import { api, session, stepUp } from './api.js'
import { button, h } from './element.js'
import { factorField, form } from './form.js'
import { texts } from './language.js'
import { hasPasskeys, usePasskey } from './passkey.js'
import { Problem } from './problem.js'

/** @type {Promise<void> | undefined} */
let pending

/** Lets calls that need a second factor ask for it, once for all that wait. */
export function startStepUp() {
  stepUp.ask = () => {
    pending ??= renewToken().finally(() => {
      pending = undefined
    })
    return pending
  }
}

/** Resolves when a second factor has given the session a new token; rejects if the user has no factor, or cancels. */
async function renewToken() {
  const { factors } = (await api.GET('/profile/factors')).data
  if (factors.length === 0) throw new Problem('no-second-factor')
  const ended = /** @type {PromiseWithResolvers<void>} */ (Promise.withResolvers())
  const dialog = h('dialog', { 'aria-labelledby': 'step-up', onclose })
  /** @param {string} token */
  const use = (token) => {
    session.replace(token)
    ended.resolve()
    dialog.close()
  }
  const byPasskey = form({
    button: texts.usePasskey,
    async send() {
      const credential = await usePasskey(await api.POST('/login/stepup/passkey/options'))
      use((await api.POST('/login/stepup/passkey', { body: { credential } })).data.token)
    },
  })
  dialog.append(
    h('h2', { id: 'step-up' }, texts.stepUp),
    ...(factors.some(({ kind }) => kind === 'passkey') && hasPasskeys() ? [byPasskey] : []),
    form({
      fields: [factorField()],
      button: texts.confirmCode,
      async send({ code }) {
        use((await api.POST('/login/stepup', { body: { code } })).data.token)
      },
    }),
    button(texts.cancel, () => dialog.close()),
  )
  function onclose() {
    dialog.remove()
    ended.reject(new Problem('cancelled'))
  }
  document.addEventListener('session-ended', () => dialog.close(), { once: true })
  document.body.append(dialog)
  dialog.showModal()
  return ended.promise
}
