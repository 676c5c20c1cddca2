import { expect, it } from 'vitest'
import { createRequestId } from './request-id.ts'

it('differs for each of more requests than random bytes are drawn for at once', () => {
  const ids = Array.from({ length: 1_000 }, createRequestId)
  expect(new Set(ids).size).toBe(1_000)
  expect(ids.filter((id) => !/^[0-9a-f]{32}$/.test(id))).toEqual([])
})
