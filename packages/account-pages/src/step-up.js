import { client, offersPasskeys } from './api.js'
import { LatchkeyError } from './client/client.js'
import { stepUpByPasskey } from './client/passkeys.js'
import { button, h } from './element.js'
import { factorField, form } from './form.js'
import { texts } from './language.js'

/** Resolves when a second factor has confirmed the login; rejects if the user has no factor, or cancels. */
export async function confirmLogin() {
  const { factors } = await client.request('GET', '/profile/factors')
  if (factors.length === 0) throw new LatchkeyError({ type: 'urn:latchkey:pages:no-second-factor' })
  const ended = /** @type {PromiseWithResolvers<void>} */ (Promise.withResolvers())
  const dialog = h('dialog', { 'aria-labelledby': 'step-up', onclose })
  /** @param {Promise<unknown>} confirmed */
  const closeAfter = async (confirmed) => {
    await confirmed
    ended.resolve()
    dialog.close()
  }
  const byPasskey = form({
    button: texts.usePasskey,
    send: () => closeAfter(stepUpByPasskey(client)),
  })
  dialog.append(
    h('h2', { id: 'step-up' }, texts.stepUp),
    ...(factors.some(({ kind }) => kind === 'passkey') && offersPasskeys() ? [byPasskey] : []),
    form({
      fields: [factorField()],
      button: texts.confirmCode,
      send: ({ code }) => closeAfter(client.stepUp({ code })),
    }),
    button(texts.cancel, () => dialog.close()),
  )
  const forget = client.onChange((user) => user || dialog.close())
  function onclose() {
    forget()
    dialog.remove()
    ended.reject(new LatchkeyError({ type: 'urn:latchkey:pages:cancelled' }))
  }
  document.body.append(dialog)
  dialog.showModal()
  return ended.promise
}
