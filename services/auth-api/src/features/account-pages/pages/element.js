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

/** A list of links and buttons, one of which is no step of the form before it. */
export const links = (...items) => h('p', { class: 'links' }, ...items)

export const link = (target, text) => h('a', { href: `#${target}` }, text)

export const button = (text, onclick, properties = {}) =>
  h('button', { type: 'button', onclick, ...properties }, text)

/** A part of a page, with its heading. */
export const section = (title, ...children) =>
  h('section', { class: 'card' }, h('h2', {}, title), ...children)
