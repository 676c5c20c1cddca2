/**
 * @typedef {Node | string | false | undefined} Child
 * @typedef {string | number | boolean | undefined | ((event: Event) => unknown)} Property
 */

/**
 * Finds an element that the page has.
 * @param {string} selector
 */
export function find(selector) {
  const found = document.querySelector(selector)
  if (!(found instanceof HTMLElement)) throw new Error(`The page has no ${selector}`)
  return found
}

/**
 * Creates an element. A property that is a function listens to its event (`onclick`), any other is an attribute: `true` sets
 * it without a value, `false` and undefined leave it away. Text is never read as HTML.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, Property>} properties
 * @param {(Child | Child[])[]} children
 */
export const h = (name, properties = {}, ...children) =>
  fill(document.createElement(name), properties, children)

/**
 * Creates an element of a drawing, as `h` does.
 * @param {string} name
 * @param {Record<string, Property>} properties
 * @param {Child[]} children
 */
export const svg = (name, properties, ...children) =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', name), properties, children)

/**
 * @template {Element} Created
 * @param {Created} element
 * @param {Record<string, Property>} properties
 * @param {(Child | Child[])[]} children
 */
function fill(element, properties, children) {
  for (const [key, value] of Object.entries(properties)) {
    if (typeof value === 'function') element.addEventListener(key.slice('on'.length), value)
    else if (value !== undefined && value !== false)
      element.setAttribute(key, value === true ? '' : String(value))
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== false))
  return element
}

/**
 * Creates a row of links and buttons: what else one can do than send the form.
 * @param {Child[]} items
 */
export const links = (...items) => h('p', { class: 'links' }, ...items)

/**
 * Creates a link to another page.
 * @param {string} target
 * @param {string} text
 */
export const link = (target, text) => h('a', { href: `#${target}` }, text)

/**
 * Creates a button that sends no form.
 * @param {string} text
 * @param {(event: Event) => unknown} onclick
 * @param {Record<string, Property>} properties
 */
export const button = (text, onclick, properties = {}) =>
  h('button', { type: 'button', onclick, ...properties }, text)

/**
 * Creates the card of one subject.
 * @param {string} title
 * @param {Child[]} children
 */
export const section = (title, ...children) =>
  h('section', { class: 'card' }, h('h2', {}, title), ...children)
