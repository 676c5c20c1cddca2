import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { findPages } from './broken-references.ts'
import { ROOT } from './checkout.ts'
import { readSnippets } from './snippets.ts'

const code = findPages(ROOT).flatMap((page) => readSnippets(ROOT, page))
const placeOf = ({ page, line }: { page: string; line: number }) => `${page}:${line}`

it('finds the blocks of every page', () => {
  expect(code.length).toBeGreaterThan(80)
})

it('is run, or has a reason why not: every block of code', () => {
  expect(code.filter(({ plan }) => plan === undefined).map(placeOf)).toEqual([])
})

it('is run by a test that reads the page, where a block names one', () => {
  const wrong = code.filter(({ page, plan }) => {
    if (plan?.kind !== 'run by') return false
    const test = join(ROOT, plan.test)
    return !existsSync(test) || !readFileSync(test, 'utf8').includes(page)
  })
  expect(wrong.map(placeOf)).toEqual([])
})

it('imports in an extension only modules that the version policy covers', () => {
  const reference = readFileSync(join(ROOT, 'docs/reference/extensions.md'), 'utf8')
  const policy = reference.slice(reference.indexOf('## What an extension may import'))
  const covered = new Set(policy.match(/@latchkey\/[^`]+/g))
  const imported = code
    .filter(({ page }) => /your-own-endpoint|reference\/extensions/.test(page))
    .flatMap(({ text }) => text.match(/(?<=from ')@latchkey\/[^']+/g) ?? [])
  expect(imported.length).toBeGreaterThan(10)
  expect(imported.filter((module) => !covered.has(module))).toEqual([])
})
