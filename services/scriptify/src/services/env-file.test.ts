import { describe, expect, it } from 'vitest'
import {
  maskEnvFile,
  parseEnvFile,
  renderEnvFile,
  requireReadableEnvFile,
  updateEnvFile,
} from './env-file.ts'

const MARK = '# scriptify: managed service=x template=crond v=1\n'

describe('an environment file', () => {
  // A launcher and a terminal read a line as systemd does (test/services/environment-files.soak.test.ts asks it).
  it.each([
    { line: 'A=b', value: 'b' },
    { line: ' A = b ', value: 'b' },
    { line: 'A=', value: '' },
    { line: 'A=two  words', value: 'two  words' },
    { line: 'A="two words" ', value: 'two words' },
    { line: "A='$x `y` \\z'", value: '$x `y` \\z' },
    { line: 'A="\\$x \\`y\\` \\" \\\\ \\z"', value: '$x `y` " \\ \\z' },
    { line: 'A=$(date);id', value: '$(date);id' },
    { line: 'A=b"c"', value: 'b"c"' },
    { line: 'A="b" c', value: 'bc' },
    { line: 'A="b"\'c\'', value: 'bc' },
    { line: 'A=b\\ ', value: 'b ' },
    { line: 'A=b\\\nc', value: 'bc' },
    { line: 'A="two\nlines"', value: 'two\nlines' },
    { line: 'A="two\\\nlines"', value: 'twolines' },
    { line: 'A=b\r', value: 'b' },
    { line: 'A=b # c', value: 'b # c' },
    { line: 'A=é', value: 'é' },
    { line: '#A=b', value: undefined },
    { line: ';A=b', value: undefined },
    { line: 'export A=b', value: undefined },
    { line: '\uFEFFA=b', value: undefined },
    { line: 'A B=c', value: undefined },
  ])('gives A the value $value by $line', ({ line, value }) => {
    const expected = { Z: '1', ...(value === undefined ? {} : { A: value }), C: '3' }
    expect(parseEnvFile(`${MARK}Z=1\n${line}\nC=3\n`)).toEqual(expected)
  })

  it.each(['A B', '1A', '', 'É', 'A\n', 'A='])('refuses a variable named %j', (name) => {
    expect(() => renderEnvFile({ [name]: '1' })).toThrow('Invalid environment name')
  })

  it('refuses a NUL without repeating the value', () => {
    expect(() => renderEnvFile({ A: 'secret\0' })).toThrow(/^The value of A contains a NUL byte$/)
  })

  it.each([
    { why: 'one in its place', text: 'A="1"\nB="$A"\n', over: 'A="two"\nB="$A"\n' },
    { why: 'one of several lines', text: 'A="1\nB=2\n"\nC=3\n', over: 'A="two"\nC=3\n' },
    { why: 'each of a name', text: "A=1\nA='2'\n", over: 'A="two"\nA="two"\n' },
    { why: 'one that was not there', text: '# A=1\nB=`b`', over: '# A=1\nB=`b`\nA="two"\n' },
    { why: 'one of an empty file', text: '', over: 'A="two"\n' },
  ])('takes a new value for $why, and is otherwise unchanged', ({ text, over }) => {
    expect(updateEnvFile(text, { A: 'two' })).toBe(over)
  })

  it.each([
    { line: 'A=b hush', isReadable: true },
    { line: 'A=`hush`', isReadable: true },
    { line: 'A=b\r', isReadable: true },
    { line: ' ; comment', isReadable: true },
    { line: 'export A=hush', isReadable: false },
    { line: '\uFEFFA=hush', isReadable: false },
    { line: 'A="hush', isReadable: false },
    { line: "A='hush", isReadable: false },
    { line: 'A="hush\\"', isReadable: false },
    { line: '# hush \\', isReadable: false },
    { line: 'A: hush', isReadable: false },
    { line: 'hush', isReadable: false },
    { line: '1A=hush', isReadable: false },
  ])('is readable with $line: $isReadable', ({ line, isReadable }) => {
    const require = () => requireReadableEnvFile(`${MARK}B="1\n2"\n${line}\nC=3\n`, '/etc/scriptify/x.env')
    if (isReadable) return expect(require).not.toThrow()
    expect(require).toThrow(/^Line 4 of \/etc\/scriptify\/x\.env/)
    expect(require).not.toThrow('hush')
    expect(require).toThrow(expect.objectContaining({ exitCode: 2 }))
  })

  it('is shown without anything that may be a secret', () => {
    const text = `${MARK}# old: hush\nA=hush\nB="hush\nC=hush"\nD: hush\n`
    expect(maskEnvFile(text)).toBe(`${MARK}A="…"\nB="…"\n`)
  })
})
