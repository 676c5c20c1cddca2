import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findPhp } from './find-php.ts'

/** A program that is not a script; it is no php, and says nothing. */
const PROGRAM = '/bin/true'

function aFolder(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), 'scriptify-php-')))
}

const find = (binary: string) => findPhp({ SCRIPTIFY_PHP_BINARY: binary })

describe('findPhp', () => {
  it('does not start a program', async () => {
    const folder = aFolder()
    copyFileSync(PROGRAM, join(folder, 'php8.4'))
    symlinkSync('php8.4', join(folder, 'php'))
    expect(await find(join(folder, 'php'))).toBe(join(folder, 'php8.4'))
  })

  it('takes the first in PATH that can be executed', async () => {
    const [first, second, third] = [aFolder(), aFolder(), aFolder()]
    mkdirSync(join(first, 'php'))
    writeFileSync(join(second, 'php'), '')
    copyFileSync(PROGRAM, join(third, 'php'))
    expect(await findPhp({ PATH: [first, second, third].join(':') })).toBe(join(third, 'php'))
  })

  it('asks a script which php it starts', async () => {
    const script = join(aFolder(), 'php')
    writeFileSync(script, "#!/bin/sh\nprintf '/opt/php\\t8.4.1\\t80401\\n'\n", { mode: 0o755 })
    expect(await find(script)).toBe('/opt/php')
  })

  it('asks the program of a version manager', async () => {
    const folder = aFolder()
    copyFileSync(PROGRAM, join(folder, 'manager'))
    symlinkSync('manager', join(folder, 'php'))
    await expect(find(join(folder, 'php'))).rejects.toMatchObject({ exitCode: 5 })
  })
})
