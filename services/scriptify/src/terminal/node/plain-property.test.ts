import { expect, it } from 'vitest'
import { plainOwners, plainProperty } from './plain-property.ts'

const throwing = new Proxy<ProxyHandler<object>>(
  {},
  {
    get() {
      throw new Error('A trap was called')
    },
  },
)
const proxy = new Proxy({ name: 'hidden' }, throwing)

it('reads its own and inherited properties, and runs no getter', () => {
  const value = Object.create({ inherited: 1 }, { own: { value: 2 }, read: { get: () => 3 } })
  expect(['own', 'inherited', 'read', 'missing'].map((name) => plainProperty(value, name))).toEqual([
    2,
    1,
    undefined,
    undefined,
  ])
})

it('calls no trap of a proxy, nor of one among the prototypes', () => {
  expect(plainProperty(proxy, 'name')).toBeUndefined()
  const child = Object.create(proxy, { own: { value: 1 } })
  expect(plainProperty(child, 'name')).toBeUndefined()
  const owners = [...plainOwners(child)]
  // Not toEqual, which would call the traps.
  expect(owners.length === 1 && owners[0] === child).toBe(true)
})
