import { client, settings } from './api.js'
import { LatchkeyError } from './client/client.js'
import { h } from './element.js'
import { describeProblem, fillText, slugOf, texts } from './language.js'
import { keepsRule } from './password-rules.js'

/** @import { Schemas } from './api.js' */

/** @typedef {NonNullable<Schemas['Problem']['violations']>} Violations */

/**
 * @template {string} Name
 * @typedef {object} Field
 * @property {Name} name
 * @property {HTMLInputElement | HTMLSelectElement} control
 * @property {HTMLElement} element
 * @property {() => string} value
 * @property {() => string} findFault
 * @property {(text: string) => void} show Shows what is wrong, or with '' that nothing is.
 * @property {(violations: Violations | undefined) => string} [describe]
 */

/**
 * @typedef {object} Attributes Those of the input; `required` unless it is false.
 * @property {string} [type]
 * @property {string} [value]
 * @property {string} [class]
 * @property {string} [autocapitalize]
 * @property {string} [autocomplete]
 * @property {string} [inputmode]
 * @property {string} [maxlength]
 * @property {boolean} [required]
 */

/**
 * @typedef {object} Behaviour
 * @property {string} [hint]
 * @property {HTMLInputElement | HTMLSelectElement} [input] A control that is not a text.
 * @property {(control: HTMLInputElement | HTMLSelectElement) => HTMLElement} [around] Puts more beside the control.
 * @property {(text: string) => string} [clean] Returns what is sent.
 * @property {((value: string) => string) | undefined} [check] Returns what is wrong with that.
 */

/**
 * The field beside which a problem is shown, if the form has it.
 * @type {Record<string, string>}
 */
const FIELD_OF = {
  'wrong-password': 'current_password',
  'password-refused': 'password',
  'username-taken': 'username',
  'email-taken': 'email',
  'reset-refused': 'code',
  'login-code-refused': 'code',
  'signup-refused': 'code',
  'email-change-refused': 'code',
  'second-factor-refused': 'code',
  'too-many-tries': 'code',
}

/** @param {string} text */
const trim = (text) => text.trim()

let count = 0

/**
 * Creates a field with its label, its hint, and what is wrong with it.
 * @template {string} Name
 * @param {Name} name
 * @param {string} label
 * @param {Attributes & Behaviour} options
 * @returns {Field<Name>}
 */
export function field(name, label, options = {}) {
  const { hint, input, around, clean = trim, check, ...attributes } = options
  const id = `${name}-${++count}`
  const control =
    input ??
    h('input', {
      name,
      required: true,
      autocapitalize: 'none',
      spellcheck: 'false',
      ...attributes,
    })
  control.id = id
  const fault = h('p', { class: 'fault', id: `${id}-fault`, hidden: true })
  control.setAttribute('aria-describedby', `${hint ? `${id}-hint ` : ''}${fault.id}`)
  return {
    name,
    control,
    element: h(
      'div',
      { class: 'field' },
      h('label', { for: id }, label),
      hint && h('p', { class: 'hint', id: `${id}-hint` }, hint),
      around ? around(control) : control,
      fault,
    ),
    value: () => clean(control.value),
    findFault() {
      const value = clean(control.value)
      return control.required && value === '' ? texts.faults.required : (check?.(value) ?? '')
    },
    show(text) {
      fault.textContent = text
      fault.hidden = text === ''
      if (text) control.setAttribute('aria-invalid', 'true')
      else control.removeAttribute('aria-invalid')
    },
  }
}

/**
 * @template {string} [Name='email']
 * @param {Name} name
 * @param {string} label
 * @param {Attributes} attributes
 */
export const emailField = (name = /** @type {Name} */ ('email'), label = texts.email, attributes = {}) =>
  // No type=email: browsers refuse letters of other scripts there, which an address may have.
  field(name, label, { inputmode: 'email', autocomplete: 'username', maxlength: '480', ...attributes })

/**
 * Creates the field of a code, which a mail or an app shows.
 * @param {string} label
 * @param {Attributes & Behaviour} options
 */
export const codeField = (label = texts.code, options = {}) =>
  field('code', label, {
    inputmode: 'numeric',
    autocomplete: 'one-time-code',
    class: 'code',
    // Mails show a code in two groups.
    clean: (text) => text.replaceAll(/\s/g, ''),
    check: (code) => (/^\d{6}$/.test(code) ? '' : texts.faults.code),
    ...options,
  })

/**
 * Creates the field of a code of a mail, which the link of the mail fills in.
 * @param {string | undefined} code
 */
export const mailedCodeField = (code) => codeField(texts.code, { value: code ?? '' })

/** Creates the field of a code of an app, or of a recovery code in its place. */
export const factorField = () =>
  codeField(texts.factorCode, {
    hint: texts.factorHint,
    inputmode: 'text',
    check: undefined,
    maxlength: '40',
  })

/**
 * Creates the field of a password, with a button that shows it.
 * @template {string} Name
 * @param {Name} name
 * @param {string} label
 * @param {string} autocomplete
 */
export function passwordField(name, label, autocomplete) {
  return field(name, label, {
    type: 'password',
    autocomplete,
    clean: (text) => text,
    around(control) {
      const toggle = h('button', { type: 'button', onclick: () => show(control.type === 'password') })
      /** @param {boolean} isShown */
      function show(isShown) {
        control.setAttribute('type', isShown ? 'text' : 'password')
        toggle.textContent = isShown ? texts.hide : texts.show
        toggle.setAttribute('aria-label', `${toggle.textContent}: ${label}`)
      }
      show(false)
      return h('div', { class: 'password' }, control, toggle)
    },
  })
}

/**
 * Creates the field of a new password with the rules that it has to follow, each ticked once it is kept; it works without them
 * where they cannot be loaded.
 * @returns {Field<'password'>}
 */
export function newPasswordField(label = texts.newPassword) {
  const made = passwordField('password', label, 'new-password')
  const list = h('ul', { class: 'rules', id: `${made.control.id}-rules`, 'aria-label': texts.rules })
  const sentences = new Map()
  made.element.append(list)
  made.control.setAttribute('aria-describedby', `${made.control.getAttribute('aria-describedby')} ${list.id}`)
  /** @param {Schemas['PasswordPolicy']['rules']} rules */
  const showRules = (rules) => {
    for (const { rule, text } of rules) sentences.set(rule, text)
    // Nobody types a password that is too long.
    const usual = rules.filter(({ rule }) => !rule.startsWith('MAXIMUM_'))
    const items = usual.map(({ text }) => h('li', {}, text))
    list.append(...items)
    const tickKept = () => {
      for (const [index, rule] of usual.entries())
        items[index]?.classList.toggle('kept', keepsRule(made.control.value, rule))
    }
    made.control.addEventListener('input', tickKept)
    tickKept()
  }
  client.request('GET', '/password-policy').then(
    ({ rules }) => showRules(rules),
    () => undefined,
  )
  return {
    ...made,
    describe: (violations = []) => violations.map(({ rule }) => sentences.get(rule)).join(' '),
  }
}

/**
 * Creates a box to tick, which is ticked.
 * @param {string} label
 * @param {string} hint
 */
export function tick(label, hint) {
  const id = `tick-${++count}`
  const control = h('input', { type: 'checkbox', id, checked: true, 'aria-describedby': `${id}-hint` })
  const text = h('label', { for: id }, label)
  return {
    control,
    element: h('div', { class: 'tick' }, control, text, h('p', { class: 'hint', id: `${id}-hint` }, hint)),
  }
}

/**
 * Names the account whose password a form has, for password managers. Nobody sees it.
 * @param {string | null} account
 */
export const accountField = (account) =>
  h('input', { type: 'text', autocomplete: 'username', value: account ?? '', readonly: true, hidden: true })

/**
 * Creates a form whose values `send` sends. What that throws is shown, beside a field where it is about one, and everything
 * typed stays. The browser's own messages would disappear, and be in another language.
 * @template {string} Name
 * @param {object} given
 * @param {(Field<Name> | Element)[]} [given.fields] Fields, and other elements between them.
 * @param {string} given.button
 * @param {string} [given.about] Tells buttons of one text apart.
 * @param {(values: Record<Name, string>) => Promise<unknown>} given.send
 * @param {'primary' | 'secondary' | 'danger'} [given.kind]
 * @param {Name[]} [given.keeps] The fields that still have what was typed when the user comes back through the history.
 */
export function form({ fields = [], button: label, about = '', send, kind = 'primary', keeps = [] }) {
  const named = fields.filter((each) => 'control' in each)
  const kept = named.filter((each) => keeps.includes(each.name))
  for (const { name, control } of kept) control.value = history.state?.typed?.[name] ?? control.value
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true })
  const name = about ? `${label}: ${about}` : undefined
  const submit = h('button', { type: 'submit', class: kind, 'aria-label': name }, label)
  let isSending = false

  /** @param {unknown} error */
  function showProblem(error) {
    const { errors: faults = [], violations } = error instanceof LatchkeyError ? error.problem : {}
    for (const { path, message } of faults) fieldOf(path)?.show(fillText(texts.faults.of, { message }))
    const target = fieldOf(FIELD_OF[slugOf(error)])
    if (target) target.show(target.describe?.(violations) || describeProblem(error))
    else if (!faults.some(({ path }) => fieldOf(path))) say(describeProblem(error))
    focusFault()
  }

  function focusFault() {
    const wrong = named.find(({ control }) => control.hasAttribute('aria-invalid'))
    wrong?.control.focus()
    return wrong !== undefined
  }

  /** @param {string | undefined} path */
  const fieldOf = (path) => named.find((each) => each.name === path)

  /** @param {string} text */
  function say(text) {
    problem.textContent = text
    problem.hidden = text === ''
  }

  /** @param {Event} event */
  async function onsubmit(event) {
    event.preventDefault()
    if (isSending) return
    say('')
    for (const each of named) each.show(each.findFault())
    if (focusFault()) return
    isSending = true
    submit.setAttribute('aria-disabled', 'true')
    try {
      await send(valuesOf(named))
    } catch (error) {
      showProblem(error)
    } finally {
      isSending = false
      submit.removeAttribute('aria-disabled')
    }
  }

  const onchange = () => history.replaceState({ ...history.state, typed: valuesOf(kept) }, '')
  const elements = fields.map((each) => ('control' in each ? each.element : each))
  return h(
    'form',
    { novalidate: true, onsubmit, onchange: kept.length > 0 && onchange },
    ...elements,
    problem,
    submit,
  )
}

/** The problems of a code that was mailed and is wrong, or has ended. */
const CODE_REFUSALS = ['reset-refused', 'signup-refused', 'email-change-refused']

/**
 * Calls the API with a code that was mailed. The server does not say that a code has ended by too many tries, so they are
 * counted here, also over a reload.
 * @template T
 * @param {Promise<T>} call
 */
export const countTries = (call) =>
  call.catch((error) => {
    if (!CODE_REFUSALS.includes(slugOf(error))) throw error
    const tries = (history.state?.tries ?? 0) + 1
    history.replaceState({ ...history.state, tries }, '')
    if (tries < settings.code_attempts) throw error
    throw new LatchkeyError({ type: 'urn:latchkey:pages:too-many-tries' }, { cause: error })
  })

/**
 * Creates the button that sends another code.
 * @param {() => Promise<unknown>} send
 */
export const againForm = (send) => form({ button: texts.anotherCode, kind: 'secondary', send })

/**
 * @template {string} Name
 * @param {Field<Name>[]} fields
 */
const valuesOf = (fields) =>
  /** @type {Record<Name, string>} */ (Object.fromEntries(fields.map(({ name, value }) => [name, value()])))
