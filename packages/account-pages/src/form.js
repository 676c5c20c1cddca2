import { api } from './api.js'
import { h } from './element.js'
import { describeProblem, fillText, texts } from './language.js'

/** The field beside which a problem is shown, if the form has it. */
const FIELD_OF = {
  'wrong-password': 'current_password',
  'password-refused': 'password',
  'username-taken': 'username',
  'email-taken': 'email',
  'reset-refused': 'code',
  'signup-refused': 'code',
  'email-change-refused': 'code',
  'second-factor-refused': 'code',
}

const trim = (text) => text.trim()

let count = 0

/**
 * A field with its label, its hint, and what is wrong with it. `input` is another control than a text, `around` puts more
 * beside it; `clean` returns what is sent, and `check` what is wrong with that. The attributes are those of the input.
 * @param {Record<string, any>} options
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
    /** Shows what is wrong, or with '' that nothing is. */
    show(text) {
      fault.textContent = text
      fault.hidden = text === ''
      if (text) control.setAttribute('aria-invalid', 'true')
      else control.removeAttribute('aria-invalid')
    },
  }
}

export const emailField = (name = 'email', label = texts.email, attributes = {}) =>
  // No type=email: browsers refuse letters of other scripts there, which an address may have.
  field(name, label, { inputmode: 'email', autocomplete: 'username', maxlength: '480', ...attributes })

/** The code of a mail, or of an app. */
export const codeField = (label = texts.code, attributes = {}) =>
  field('code', label, {
    inputmode: 'numeric',
    autocomplete: 'one-time-code',
    class: 'code',
    // Mails show a code in two groups.
    clean: (text) => text.replaceAll(/\s/g, ''),
    check: (code) => (/^\d{6}$/.test(code) ? '' : texts.faults.code),
    ...attributes,
  })

/** A code of an app, or a recovery code in its place. */
export const factorField = () =>
  codeField(texts.factorCode, {
    hint: texts.factorHint,
    inputmode: 'text',
    check: undefined,
    maxlength: '40',
  })

/** A password, with a button that shows it. */
export function passwordField(name, label, autocomplete) {
  return field(name, label, {
    type: 'password',
    autocomplete,
    clean: (text) => text,
    around(control) {
      const toggle = h('button', { type: 'button', 'aria-pressed': 'false', onclick }, texts.show)
      toggle.setAttribute('aria-label', `${texts.show}: ${label}`)
      function onclick() {
        const isShown = control.type === 'text'
        control.type = isShown ? 'password' : 'text'
        toggle.setAttribute('aria-pressed', String(!isShown))
      }
      return h('div', { class: 'password' }, control, toggle)
    },
  })
}

/** A new password with the rules that it has to follow. Without them the field works too, if they cannot be loaded. */
export function newPasswordField(label = texts.newPassword) {
  const made = passwordField('password', label, 'new-password')
  const list = h('ul', { class: 'rules', id: `${made.control.id}-rules`, 'aria-label': texts.rules })
  const sentences = new Map()
  made.element.append(list)
  made.control.setAttribute('aria-describedby', `${made.control.getAttribute('aria-describedby')} ${list.id}`)
  const showRules = (rules) => {
    for (const { rule, text } of rules) sentences.set(rule, text)
    // Nobody types a password that is too long.
    const usual = rules.filter(({ rule }) => !rule.startsWith('MAXIMUM_'))
    list.append(...usual.map(({ text }) => h('li', {}, text)))
  }
  api.GET('/password-policy').then(
    ({ data }) => showRules(data.rules),
    () => undefined,
  )
  return {
    ...made,
    describe: (violations = []) => violations.map(({ rule }) => sentences.get(rule)).join(' '),
  }
}

/** For password managers: the account whose password a form has. Nobody sees it. */
export const accountField = (account) =>
  h('input', { type: 'text', autocomplete: 'username', value: account ?? '', readonly: true, hidden: true })

/**
 * A form whose values `send` sends. What that throws is shown, beside a field where it is about one, and everything typed
 * stays. `fields` may contain other elements too; `about` tells buttons of one text apart. The browser's own messages would disappear, and be in another language.
 */
export function form({ fields = [], button: label, about = '', send, kind = 'primary' }) {
  const named = fields.filter((each) => each.control)
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true })
  const name = about ? `${label}: ${about}` : undefined
  const submit = h('button', { type: 'submit', class: kind, 'aria-label': name }, label)
  let isSending = false

  function showProblem(error) {
    const faults = error.errors ?? []
    for (const { path, message } of faults) fieldOf(path)?.show(fillText(texts.faults.of, { message }))
    const target = fieldOf(FIELD_OF[error.slug])
    if (target) target.show(target.describe?.(error.violations) || describeProblem(error))
    else if (!faults.some(({ path }) => fieldOf(path))) say(describeProblem(error))
    focusFault()
  }

  function focusFault() {
    const wrong = named.find(({ control }) => control.hasAttribute('aria-invalid'))
    wrong?.control.focus()
    return wrong !== undefined
  }

  const fieldOf = (path) => named.find((each) => each.name === path)

  function say(text) {
    problem.textContent = text
    problem.hidden = text === ''
  }

  async function onsubmit(event) {
    event.preventDefault()
    if (isSending) return
    say('')
    for (const each of named) each.show(each.findFault())
    if (focusFault()) return
    isSending = true
    submit.setAttribute('aria-disabled', 'true')
    try {
      await send(Object.fromEntries(named.map(({ name, value }) => [name, value()])))
    } catch (error) {
      showProblem(error)
    } finally {
      isSending = false
      submit.removeAttribute('aria-disabled')
    }
  }

  const elements = fields.map((each) => each.element ?? each)
  return h('form', { novalidate: true, onsubmit }, ...elements, problem, submit)
}
