import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { listFiles } from '@latchkey/test-support/list-files.ts'
import { expect, it } from 'vitest'
import { findPages } from './broken-references.ts'
import { ROOT } from './checkout.ts'

/** A code span of three words or more, without the punctuation of code: a line of a log, or a message. */
const QUOTE = /`([\w'…-]+[,:]?(?: [\w'…][\w'…-]*[,:]?){2,})`/g
const COMMAND =
  /^(?:apt-get|chmod|composer|docker|git|kubectl|mysql|node|npm|npx|scriptify|service|systemctl|umask) /

const SOURCE_FILE = /^(?:admin|scripts|services|shared)\/(?!.*(?:\.test\.ts$|\/test\/)).*\.(?:ts|php|sh)$/

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

const sources = listFiles(ROOT)
  .filter((file) => SOURCE_FILE.test(file))
  .map(read)
  .join('\n')

const quotes = findPages(ROOT).flatMap((page) => {
  const prose = read(page).replaceAll(/^ *```[\s\S]*?^ *```/gm, '')
  return [...prose.matchAll(QUOTE)]
    .map(([, quote = '']) => ({ page, quote }))
    .filter(({ quote }) => !COMMAND.test(quote))
})

it('finds the quotes of the pages', () => {
  expect(quotes.length).toBeGreaterThan(5)
})

it.each(quotes)('$page quotes what the code says: $quote', ({ quote }) => {
  const missing = quote.split('…').filter((part) => !sources.includes(part.trim()))
  expect(missing).toEqual([])
})
