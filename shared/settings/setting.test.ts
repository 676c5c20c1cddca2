import { describe, expect, it } from 'vitest'
import { oneOf, setting, TEXT } from './setting.ts'

const description = 'One of many.'

describe('the example of a setting', () => {
  it.each([
    { why: 'the given one', about: { default: 'a', example: 'b' }, example: 'b' },
    { why: 'else the default', about: { default: 'a' }, example: 'a' },
    { why: 'else the default as text', about: { default: 0 }, example: '0' },
    { why: 'not an empty default', about: { default: '' }, example: undefined },
    {
      why: 'not a default that is derived',
      about: { default: { text: 'the port', derive: () => '1' } },
      example: undefined,
    },
    { why: 'none of a secret', about: { example: 'b', isSecret: true }, example: undefined },
  ])('is $why', ({ about, example }) => {
    expect(setting(TEXT, { description, ...about }).example).toBe(example)
  })
})

it('names the only choice', () => {
  const { error } = oneOf(['on'], { description }).schema.safeParse('off')
  expect(error?.issues).toMatchObject([{ message: 'must be on' }])
})
