/**
 * Creates an element. A property that is a function listens to its event (`onclick`), any other is an attribute: `true` sets
 * it without a value, `false` and undefined leave it away. Text is never read as HTML.
 */
export function h(name, properties = {}, ...children) {
  return fill(document.createElement(name), properties, children)
}

/** Creates an element of a drawing, as `h` does. */
export const svg = (name, properties, ...children) =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', name), properties, children)

function fill(element, properties, children) {
  for (const [key, value] of Object.entries(properties)) {
    if (typeof value === 'function') element.addEventListener(key.slice('on'.length), value)
    else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? '' : value)
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== false))
  return element
}

/** Creates a row of links and buttons: what else one can do than send the form. */
export const links = (...items) => h('p', { class: 'links' }, ...items)

/** Creates a link to another page. */
export const link = (target, text) => h('a', { href: `#${target}` }, text)

/** Creates a button that sends no form. */
export const button = (text, onclick, properties = {}) =>
  h('button', { type: 'button', onclick, ...properties }, text)

/** Creates the card of one subject. */
export const section = (title, ...children) =>
  h('section', { class: 'card' }, h('h2', {}, title), ...children)
