import { describe, expect, it } from 'vitest'
import { parseColumns } from './columns.ts'

describe('parseColumns', () => {
  it('finds the columns in any order and case', () => {
    expect(parseColumns([' Password_Hash ', 'EMAIL', 'username', 'property:Note'])).toEqual([
      ...['password_hash', 'email', 'username', 'property:Note'],
    ])
  })

  it.each([
    { why: 'no names', header: 'early,early@x.org,5baa61e4', says: 'The first line must name the columns' },
    { why: 'no username', header: 'email,password', says: 'the column username is missing' },
    { why: 'no e-mail', header: 'username,password_hash', says: 'the column email is missing' },
    {
      why: 'neither password nor hash',
      header: 'username,email',
      says: 'password or password_hash is missing',
    },
    { why: 'semicolons', header: 'username;email;password', says: 'Separate columns by commas' },
    { why: 'an unknown column', header: 'username,email,password,admin', says: 'column 4 is unknown' },
    {
      why: 'a column twice',
      header: 'username,email,email,password',
      says: 'column 3 has the name of column 2',
    },
    {
      why: 'a column twice, in another case',
      header: 'username,email,Email,password',
      says: 'column 3 has the name of column 2',
    },
    {
      why: 'a misspelling',
      header: 'username,emial,password',
      says: 'column 2 is unknown (did you mean email?)',
    },
    { why: 'an unknown column twice', header: 'username,email,password,x,x', says: 'column 4 is unknown' },
    {
      why: 'a property twice',
      header: 'username,email,password,property:a,property:a',
      says: 'column 5 has the name of column 4',
    },
    {
      why: 'an internal property',
      header: 'username,email,password,property:latchkey.valid_from',
      says: 'belong to Latchkey',
    },
  ])('refuses a header with $why', ({ header, says }) => {
    expect(() => parseColumns(header.split(','))).toThrow(says)
  })

  const SECRET = 'S3cret-of-Ada!'
  it.each([
    {
      why: 'is a user',
      header: ['ada', 'ada@example.com', SECRET],
      says: 'The first line must name the columns',
    },
    {
      why: 'has one secret twice',
      header: ['ada', SECRET, SECRET],
      says: 'The first line must name the columns',
    },
    { why: 'names some columns', header: ['username', 'email', SECRET], says: 'column 3 is unknown' },
    {
      why: 'names a secret as a property',
      header: ['username', 'email', 'password', `property:${SECRET.repeat(5)}`],
      says: 'property name must be at most 50 characters',
    },
    {
      why: 'has its columns between semicolons',
      header: [`ada;${SECRET}`],
      says: 'Separate columns by commas',
    },
    {
      why: 'has no line feeds',
      header: ['username', 'email', `password\rada`, 'ada@example.com', `${SECRET}\rbob`],
      says: 'The first line contains a carriage return alone',
    },
  ])('shows no cell of a first line that $why', ({ header, says }) => {
    const parse = () => parseColumns(header)
    expect(parse).toThrow(says)
    expect(parse).not.toThrow(SECRET)
  })
})
