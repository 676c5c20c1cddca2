import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { findKeptName } from './service-command.ts'

it.each([
  { why: 'the link of Debian', program: 'usr/bin/php8.4', kept: 'usr/bin/php' },
  { why: 'a link to a folder of one version', program: 'opt/node-v24/node', kept: 'usr/local/bin/node' },
  { why: 'another version than that of the link', program: 'usr/bin/php8.5', kept: 'usr/bin/php8.5' },
  { why: 'a program without a link', program: 'opt/php/php', kept: 'opt/php/php' },
])('a unit names what an upgrade keeps: $why', ({ program, kept }) => {
  const root = mkdtempSync(join(tmpdir(), 'scriptify-program-'))
  const at = (path: string) => join(root, path)
  for (const folder of ['etc', 'usr/bin', 'usr/local/bin', 'opt/node-v24', 'opt/php'])
    mkdirSync(at(folder), { recursive: true })
  for (const file of ['usr/bin/php8.4', 'usr/bin/php8.5', 'opt/node-v24/node', 'opt/php/php'])
    writeFileSync(at(file), '')
  symlinkSync(at('usr/bin/php8.4'), at('etc/php'))
  symlinkSync(at('etc/php'), at('usr/bin/php'))
  symlinkSync(at('opt/node-v24/node'), at('usr/local/bin/node'))
  expect(findKeptName(at(program), [at('usr/local/bin'), at('usr/bin')])).toBe(at(kept))
})
