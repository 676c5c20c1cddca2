import { describe, expect, it } from 'vitest'
import { maskEnvFile, parseEnvFile, renderEnvFile, requirePlainEnvFile, updateEnvFile } from './env-file.ts'

const MARK = '# scriptify: managed service=x template=crond v=1\n'

describe('an environment file', () => {
  it('may be edited by hand', () => {
    expect(parseEnvFile("# comment\n\n A = 1\nB=two words \nC='$x'\nD=\n")).toEqual({
      ...{ B: 'two words', C: '$x', D: '' },
    })
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
    { why: 'each of a name', text: "A=1\nexport A='2'\n", over: 'A="two"\nA="two"\n' },
    { why: 'one that was not there', text: '# A=1\nB=`b`', over: '# A=1\nB=`b`\nA="two"\n' },
    { why: 'one of an empty file', text: '', over: 'A="two"\n' },
  ])('takes a new value for $why, and is otherwise unchanged', ({ text, over }) => {
    expect(updateEnvFile(text, { A: 'two' })).toBe(over)
  })

  it.each([
    { why: 'a double quote', text: 'A=1\nB="hush\nC=2\n' },
    { why: 'a single quote', text: "# B='x\nexport B='hush\n" },
    { why: 'a quote that is escaped at the end', text: 'B="hush\\"\n' },
  ])(
    'refuses to add to a file that does not close $why: the new line would become part of the value',
    ({ text }) => {
      const update = () => updateEnvFile(text, { NEW: '1' })
      expect(update).toThrow(
        'The line B=… of the environment file begins a quote that is never closed; close it',
      )
      expect(update).not.toThrow('hush')
      expect(update).toThrow(expect.objectContaining({ exitCode: 2 }))
    },
  )

  it.each([
    { line: 'A=b', isPlain: true },
    { line: 'export A=b', isPlain: true },
    { line: ' A="two words" ', isPlain: true },
    { line: "A='$x `y`'", isPlain: true },
    { line: 'A="\\$x \\`y\\` \\" \\\\"', isPlain: true },
    { line: 'A="$HOME"', isPlain: true },
    { line: 'A="two\nlines"', isPlain: true },
    { line: 'A=b\r', isPlain: true },
    { line: '# comment', isPlain: true },
    { line: 'A=b hush', isPlain: false },
    { line: 'A=b;hush', isPlain: false },
    { line: 'A=`hush`', isPlain: false },
    { line: 'A=$(hush)', isPlain: false },
    { line: 'A="$(hush)"', isPlain: false },
    { line: 'A="`hush`"', isPlain: false },
    { line: 'A="b" hush', isPlain: false },
    { line: 'A="hush', isPlain: false },
    { line: 'A=b\\ hush', isPlain: false },
    { line: 'A = b', isPlain: false },
    { line: 'A: hush', isPlain: false },
    { line: 'hush', isPlain: false },
    { line: '\uFEFFA=b', isPlain: false },
  ])('takes $line for plain: $isPlain', ({ line, isPlain }) => {
    const require = () => requirePlainEnvFile(`${MARK}B="1\n2"\n${line}\nC=3\n`, '/etc/scriptify/x.env')
    if (isPlain) return expect(require).not.toThrow()
    expect(require).toThrow(/^Line 4 of \/etc\/scriptify\/x\.env/)
    expect(require).not.toThrow('hush')
    expect(require).toThrow(expect.objectContaining({ exitCode: 2 }))
  })

  it('is shown without anything that may be a secret', () => {
    const text = `${MARK}# old: hush\nA=hush\nexport B="hush\nC=hush"\nD: hush\n`
    expect(maskEnvFile(text)).toBe(`${MARK}A="…"\nB="…"\n`)
  })
})
