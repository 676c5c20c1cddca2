import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EXIT } from '../../services/scriptify/src/io/cli-error.ts'
import { findBrokenReferences, findMissingPages, findPages } from './broken-references.ts'
import { ROOT } from './checkout.ts'
import { generatePages } from './generated-pages.ts'

const generated = await generatePages()
const pages = findPages(ROOT)

describe('the documentation', () => {
  it.each(generated)('has the tables that the code has; `npm run docs` writes them: $path', (page) => {
    expect(page.current).toBe(page.expected)
  })

  it.each(pages)('has links, anchors and file names that lead somewhere: %s', (page) => {
    expect(findBrokenReferences(ROOT, page)).toEqual([])
  })

  it('has every page that code and configuration name', () => {
    expect(findMissingPages(ROOT)).toEqual([])
  })

  it('has each page in the index', () => {
    const index = readFileSync(join(ROOT, 'docs/README.md'), 'utf8')
    const missing = pages
      .filter((page) => /^docs\/.+\//.test(page))
      .filter((page) => !index.includes(`](${page.slice('docs/'.length)})`))
    expect(missing).toEqual([])
  })

  it.each(Object.entries(EXIT))('explains the exit code %s (%i)', (_name, code) => {
    const page = readFileSync(join(ROOT, 'docs/reference/exit-codes.md'), 'utf8')
    expect(page).toMatch(new RegExp(`\\b${code}\\b`))
  })
})
