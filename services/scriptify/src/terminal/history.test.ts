import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
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

it('reads a file that it may not write, and leaves it as it is', () => {
  const path = aPath()
  chmodSync(dirname(path), 0o755)
  writeFileSync(path, '"1"\n', { mode: 0o444 })
  // Root may write to any file.
  const user = process.geteuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  const script = `import { openHistory } from ${JSON.stringify(join(import.meta.dirname, 'history.ts'))}
    const history = openHistory(process.argv[1])
    history.add('2')
    console.log(JSON.stringify(history))`
  const words = ['--input-type=module', '--eval', script, path]
  const { entries, problem } = JSON.parse(
    execFileSync(process.execPath, words, { ...user, encoding: 'utf8' }),
  )
  expect(entries).toEqual(['2', '1'])
  expect(problem).toContain('cannot be read and written')
  expect(readFileSync(path, 'utf8')).toBe('"1"\n')
})
