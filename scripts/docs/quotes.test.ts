import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { findPages } from './broken-references.ts'
import { ROOT } from './generated-pages.ts'

/** A code span of three words or more, without the punctuation of code: a line of a log, or a message. */
const QUOTE = /`([\w'…-]+[,:]?(?: [\w'…][\w'…-]*[,:]?){2,})`/g
const COMMAND =
  /^(?:apt-get|chmod|composer|docker|git|kubectl|mysql|node|npm|npx|scriptify|service|systemctl|umask) /
const SOURCE = ['admin', 'scripts', 'services', 'shared'].map((folder) => `${folder}/**`)

const sources = execFileSync('git', ['ls-files', ...SOURCE], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((file) => /\.(?:ts|php|sh)$/.test(file) && !/\.test\.ts$|\/test\//.test(file))
  .map((file) => readFileSync(join(ROOT, file), 'utf8'))
  .join('\n')

const quotes = findPages(ROOT).flatMap((page) =>
  [
    ...readFileSync(join(ROOT, page), 'utf8')
      .replaceAll(/^ *```[\s\S]*?^ *```/gm, '')
      .matchAll(QUOTE),
  ]
    .map(([, quote = '']) => ({ page, quote }))
    .filter(({ quote }) => !COMMAND.test(quote)),
)

it('finds the quotes of the pages', () => {
  expect(quotes.length).toBeGreaterThan(5)
})

it.each(quotes)('$page quotes what the code says: $quote', ({ quote }) => {
  const missing = quote.split('…').filter((part) => !sources.includes(part.trim()))
  expect(missing).toEqual([])
})
