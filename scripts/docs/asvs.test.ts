import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT } from './checkout.ts'

/** The requirements of the levels 1 and 2 in each chapter of ASVS 5.0.0. */
const REQUIREMENTS = [27, 11, 19, 10, 9, 35, 18, 7, 7, 29, 14, 9, 13, 9, 13, 16, 7]

const page = readFileSync(join(ROOT, 'docs/reference/asvs.md'), 'utf8')
const rows = page.split(/^## /m).flatMap((section) => {
  const [state] = section.split('\n', 1)
  return [...section.matchAll(/^\| ([\d., ]+) \| (.+) \|$/gm)].map(([, numbers = '', reason = '']) => ({
    state,
    numbers: numbers.split(', '),
    reason,
  }))
})

describe('the page about ASVS', () => {
  it('has each requirement once', () => {
    const numbers = rows.flatMap(({ numbers }) => numbers)
    expect(new Set(numbers).size).toBe(numbers.length)
    const counts = REQUIREMENTS.map(
      (_, index) => numbers.filter((number) => number.startsWith(`${index + 1}.`)).length,
    )
    expect(counts).toEqual(REQUIREMENTS)
  })

  // `docs.test.ts` finds out whether they exist.
  it.each(rows)('names what holds, or says why not: $numbers', ({ state, reason }) => {
    expect(['Held', 'Deviates', 'Outside']).toContain(state)
    if (state === 'Held') expect(reason).toMatch(/\]\([\w./-]+\.(test\.ts|md)\)/)
    else expect(reason).toMatch(/\.$/)
  })
})
