import { client, offersPasskeys } from '../api.js'
import * as passkeys from '../client/passkeys.js'
import { button, find, h, link, links, section, svg } from '../element.js'
import { codeField, field, form, passwordField } from '../form.js'
import { describeTime, fillText, texts } from '../language.js'
import { go, refresh } from '../router.js'

/** @import { Schemas } from '../api.js' */
/** @import { Attributes } from '../form.js' */

/** Lists the second factors of the user, and the recovery codes that are left. */
export async function factorSections() {
  const { factors, recovery_codes } = await client.request('GET', '/profile/factors')
  const add = links(link('add-app', texts.addApp), offersPasskeys() && link('add-passkey', texts.addPasskey))
  const none = factors.length === 0 && h('p', {}, texts.noFactors)
  return [
    section(
      texts.secondFactor,
      none,
      ...factors.map((factor) => factorItem(factor, factors.length === 1)),
      add,
    ),
    ...(factors.length > 0
      ? [
          section(
            texts.recoveryCodes,
            h('p', {}, fillText(texts.codesLeft, { count: recovery_codes })),
            renewForm(),
          ),
        ]
      : []),
  ]
}

/**
 * Asks for a second click, below what it means, before something is sent that cannot be undone.
 * @param {string} label
 * @param {string | undefined} about
 * @param {string} meaning
 * @param {HTMLElement} sends
 */
const ask = (label, about, meaning, sends) =>
  h(
    'details',
    {},
    h('summary', { 'aria-label': about && `${label}: ${about}` }, label),
    h('p', {}, meaning),
    sends,
  )

/**
 * @param {Schemas['Factors']['factors'][number]} factor
 * @param {boolean} isLast
 */
function factorItem({ id, kind, name, created_at, last_used_at }, isLast) {
  const shown = name ?? texts.kinds[kind] ?? kind
  const remove = form({
    button: texts.removeNow,
    about: shown,
    kind: 'secondary',
    async send() {
      await client.request('DELETE', `/profile/factors/${id}`)
      await refresh(fillText(texts.removed, { name: shown }))
    },
  })
  const used = last_used_at && [h('br'), fillText(texts.lastUsedAt, { time: describeTime(last_used_at) })]
  return h(
    'div',
    { class: 'item' },
    h(
      'p',
      {},
      h('strong', {}, shown),
      h('br'),
      fillText(texts.addedAt, { time: describeTime(created_at) }),
      ...(used || []),
    ),
    ask(texts.remove, shown, isLast ? texts.removeLast : texts.removeHint, remove),
    h(
      'details',
      {},
      h('summary', { 'aria-label': `${texts.rename}: ${shown}` }, texts.rename),
      renameForm(id, shown),
    ),
  )
}

/**
 * @param {string} id
 * @param {string} shown
 */
const renameForm = (id, shown) =>
  form({
    fields: [nameField(texts.name, { value: shown })],
    button: texts.save,
    about: shown,
    kind: 'secondary',
    async send({ name }) {
      await client.request('PUT', `/profile/factors/${id}`, { name })
      await refresh(texts.saved)
    },
  })

/**
 * @param {string} label
 * @param {Attributes} attributes
 */
const nameField = (label, attributes) =>
  field('name', label, { autocomplete: 'off', autocapitalize: 'words', maxlength: '50', ...attributes })

const renewForm = () =>
  ask(
    texts.renewCodes,
    undefined,
    texts.renewHint,
    form({
      button: texts.renewNow,
      kind: 'secondary',
      async send() {
        const { recovery_codes, challenge } = await client.request('POST', '/profile/factors/recoverycodes')
        showRecoveryCodes(recovery_codes, async () => {
          await client.request('POST', '/profile/factors/recoverycodes/confirm', { challenge })
          return texts.codesRenewed
        })
      },
    }),
  )

/** Adds an authenticator app: the password, the QR code with the first code, the recovery codes. */
export async function addApp() {
  const begin = form({
    fields: [h('p', {}, texts.addAppHint), ...enrolmentFields()],
    button: texts.next,
    async send({ name, current_password }) {
      const body = { current_password, ...(name && { name }) }
      const { encodeQR } = await import('../qr.js')
      const secret = await client.request('POST', '/profile/factors/totp', body)
      begin.replaceWith(confirmForm(secret, encodeQR(secret.uri, 'raw')))
      find('h1').focus()
    },
  })
  return {
    title: texts.addApp,
    content: [
      h('div', { class: 'card' }, begin),
      links(offersPasskeys() && link('add-passkey', texts.addPasskey), link('security', texts.back)),
    ],
  }
}

/** Adds a passkey: the password, then the device of the user creates it. */
export async function addPasskey() {
  const add = form({
    fields: [h('p', {}, texts.addPasskeyHint), ...enrolmentFields()],
    button: texts.next,
    send: async (given) => finishEnrolment(await passkeys.addPasskey(client, given)),
  })
  return {
    title: texts.addPasskey,
    content: [h('div', { class: 'card' }, add), links(link('security', texts.back))],
  }
}

const enrolmentFields = () => [
  nameField(texts.deviceName, { required: false }),
  passwordField('current_password', texts.currentPassword, 'current-password'),
  h('p', { class: 'hint' }, texts.firstFactorEnds),
]

/**
 * @param {Schemas['TotpSecret']} given
 * @param {boolean[][]} qr
 */
function confirmForm({ secret, uri }, qr) {
  return form({
    fields: [
      h('p', {}, texts.scan),
      drawQr(qr),
      h('p', {}, h('a', { href: uri }, texts.openApp)),
      h('p', {}, texts.orType, h('code', {}, secret.replaceAll(/.{4}(?=.)/g, '$& '))),
      codeField(texts.firstCode),
    ],
    button: texts.confirmCode,
    send: async ({ code }) =>
      finishEnrolment(await client.request('POST', '/profile/factors/totp/confirm', { code })),
  })
}

/**
 * Shows the recovery codes that come with the first factor.
 * @param {Schemas['EnrolledFactor']} given
 */
async function finishEnrolment({ recovery_codes }) {
  if (recovery_codes.length > 0) showRecoveryCodes(recovery_codes, () => texts.factorAdded)
  else await go('security', null, { replace: true, status: texts.factorAdded })
}

/**
 * Shows recovery codes in place of the page: once, and in no entry of the history.
 * @param {string[]} codes
 * @param {() => string | Promise<string>} confirm Confirms that the user has stored them, and returns what the next page says.
 */
function showRecoveryCodes(codes, confirm) {
  const copied = h('span', { role: 'status' })
  const copy = async () => {
    await navigator.clipboard.writeText(codes.join('\n'))
    copied.textContent = texts.copied
  }
  const done = form({
    button: texts.stored,
    send: async () => go('security', null, { replace: true, status: await confirm() }),
  })
  const title = h('h1', { tabindex: '-1' }, texts.recoveryCodes)
  find('main').replaceChildren(
    title,
    h(
      'div',
      { class: 'card' },
      h('p', {}, texts.recoveryHint),
      h('ul', { class: 'codes' }, ...codes.map((code) => h('li', {}, h('code', {}, code)))),
      links(
        button(texts.print, () => print()),
        button(texts.copy, copy),
        copied,
      ),
      done,
    ),
  )
  title.focus()
}

/**
 * Draws a QR code of elements, which the Content-Security-Policy allows without an exception.
 * @param {boolean[][]} rows True where it is dark.
 */
function drawQr(rows) {
  const path = rows.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ''))).join('')
  const size = rows.length
  return svg(
    'svg',
    {
      viewBox: `0 0 ${size} ${size}`,
      class: 'qr',
      role: 'img',
      'aria-label': texts.qr,
      'shape-rendering': 'crispEdges',
    },
    svg('rect', { width: size, height: size, fill: '#fff' }),
    svg('path', { d: path, fill: '#000' }),
  )
}
