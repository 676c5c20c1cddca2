import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openHistory } from './history.ts'

const aPath = () => join(mkdtempSync(join(tmpdir(), 'scriptify-history-')), 'history.jsonl')

it('keeps an entry that follows a write which was cut short', () => {
  const path = aPath()
  writeFileSync(path, '"1"\nnot json\n"cut')
  const history = openHistory(path)
  expect(history.entries).toEqual(['1'])
  history.add('2')
  expect(openHistory(path).entries).toEqual(['2', '1'])
})

it('keeps what two sessions add', () => {
  const path = aPath()
  const [one, other] = [openHistory(path), openHistory(path)]
  one.add('1')
  other.add('2')
  one.add('3')
  expect(openHistory(path).entries).toEqual(['3', '2', '1'])
})

it('says when nothing can be kept', () => {
  expect(openHistory(aPath()).problem).toBeUndefined()
  expect(openHistory(undefined).problem).toBeUndefined()
  expect(openHistory('/proc/none/history.jsonl').problem).toBe(
    'The history is not kept: /proc/none/history.jsonl cannot be read and written',
  )
})

it.skipIf(process.geteuid?.() === 0)('reads a file that it may not write, and leaves it as it is', () => {
  const path = aPath()
  writeFileSync(path, '"1"\n')
  chmodSync(path, 0o400)
  const history = openHistory(path)
  history.add('2')
  expect(history.entries).toEqual(['2', '1'])
  expect(history.problem).toContain('cannot be read and written')
  expect(readFileSync(path, 'utf8')).toBe('"1"\n')
})
