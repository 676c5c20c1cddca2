import { describe, expect, it } from 'vitest'
import { parseColumns } from './columns.ts'

describe('parseColumns', () => {
  it('finds the columns in any order and case', () => {
    expect(parseColumns([' Password_Hash ', 'EMAIL', 'username', 'property:Note'])).toEqual([
      ...['password_hash', 'email', 'username', 'property:Note'],
    ])
  })

  it.each([
    { why: 'no header', header: 'early,early@x.org,5baa61e4', says: 'the column username is missing' },
    { why: 'no e-mail', header: 'username,password_hash', says: 'the column email is missing' },
    {
      why: 'neither password nor hash',
      header: 'username,email',
      says: 'password or password_hash is missing',
    },
    { why: 'semicolons', header: 'username;email;password', says: 'Separate columns by commas' },
    { why: 'an unknown column', header: 'username,email,password,admin', says: 'column "admin" is unknown' },
    {
      why: 'a column twice',
      header: 'username,email,email,password',
      says: 'the column "email" is there twice',
    },
    {
      why: 'a column twice, in another case',
      header: 'username,email,Email,password',
      says: 'the column "email" is there twice',
    },
    { why: 'an unknown column twice', header: 'username,email,password,x,x', says: 'column "x" is unknown' },
    {
      why: 'a property twice',
      header: 'username,email,password,property:a,property:a',
      says: 'the column "property:a" is there twice',
    },
    {
      why: 'an internal property',
      header: 'username,email,password,property:latchkey.valid_from',
      says: 'belong to Latchkey',
    },
  ])('refuses a header with $why', ({ header, says }) => {
    expect(() => parseColumns(header.split(','))).toThrow(says)
  })
})
