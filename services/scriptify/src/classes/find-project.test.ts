import { chownSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findConfiguredProject, findProject } from './find-project.ts'

/** A folder, with a folder in a folder in it. */
function aTree(...files: string[]) {
  const top = mkdtempSync(join(tmpdir(), 'scriptify-project-'))
  const below = join(top, 'src', 'jobs')
  mkdirSync(below, { recursive: true })
  for (const file of files) {
    mkdirSync(dirname(join(top, file)), { recursive: true })
    writeFileSync(join(top, file), '')
  }
  return { top, below }
}

it.each(['composer.json', 'vendor/autoload.php', 'package.json', 'scriptify.config.json'])(
  'finds the project of a folder below, by its %s',
  (mark) => {
    const { top, below } = aTree(mark)
    expect(findProject(below)).toBe(top)
    expect(findProject(top)).toBe(top)
  },
)

it('takes the nearest project, or else the folder itself', () => {
  const { top, below } = aTree('composer.json', 'src/package.json')
  expect(findProject(below)).toBe(join(top, 'src'))
  const { below: alone } = aTree()
  expect(findProject(alone)).toBe(alone)
})

it.runIf(process.geteuid?.() === 0)('passes by what somebody else has left above', () => {
  const { top, below } = aTree('composer.json')
  const [ada, eve] = [1234, 6666]
  chownSync(below, ada, ada)
  chownSync(join(top, 'composer.json'), eve, eve)
  expect(findProject(below)).toBe(below)
  expect(findProject(top)).toBe(top)
  // The owner of the folder may have code above it.
  chownSync(join(top, 'composer.json'), ada, ada)
  expect(findProject(below)).toBe(top)
  chownSync(top, eve, eve)
  expect(findProject(below)).toBe(below)
})

describe('the project that has settings', () => {
  const SETTINGS = '{"scriptify": {"namespaces": {"": "src/"}}}'

  it.each([
    { why: 'around a workspace', files: { 'package.json': SETTINGS, 'src/package.json': '{}' }, is: '' },
    {
      why: 'around two',
      files: { 'package.json': SETTINGS, 'src/package.json': '{}', 'src/jobs/package.json': '{}' },
      is: '',
    },
    {
      why: 'of PHP around a part in JavaScript',
      files: { 'composer.json': '{}', 'src/package.json': '{}' },
      is: '',
    },
    { why: 'that is nearer', files: { 'composer.json': '{}', 'src/package.json': SETTINGS }, is: 'src' },
    { why: 'that cannot be read', files: { 'package.json': SETTINGS, 'src/package.json': '{' }, is: 'src' },
    { why: 'that nobody has', files: { 'package.json': '{}', 'src/package.json': '{}' }, is: 'src' },
  ])('is the one $why', ({ files, is }) => {
    const { top, below } = aTree(...Object.keys(files))
    for (const [file, text] of Object.entries(files)) writeFileSync(join(top, file), text)
    expect(findConfiguredProject(below)).toBe(join(top, is))
  })
})
