import { types } from 'node:util'

/** The value of a property, its own or inherited; undefined where a getter or a proxy would have to run code for it. */
export function plainProperty(value: unknown, name: string): unknown {
  for (const owner of plainOwners(value)) {
    const property = Object.getOwnPropertyDescriptor(owner, name)
    if (property) return property.value
  }
  return undefined
}

/** An object and its prototypes, up to the first proxy; none for undefined and null. */
export function* plainOwners(value: unknown): Generator<object> {
  let owner: object | null = value === undefined || value === null ? null : Object(value)
  for (; owner !== null && !types.isProxy(owner); owner = Object.getPrototypeOf(owner)) yield owner
}
