import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { countRows } from '../../test/support/test-database.ts'
import { startApp, type TestApp } from './support/start-app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startApp()
})
afterAll(() => app[Symbol.asyncDispose]())

const email = 'a@example.com'
describe('bad input is answered 400 and writes nothing', () => {
  const oneAddress = { email: 'must be one e-mail address' }
  const sixDigits = { code: 'must be six digits' }
  it.each([
    { url: 'resetrequest', body: [], fault: { '': 'must be a JSON object' } },
    { url: 'resetrequest', body: {}, fault: { email: 'is required' } },
    { url: 'resetrequest', body: { email: 'a@example.com,b@example.com' }, fault: oneAddress },
    { url: 'resetrequest', body: { email: 'a,b@example.com' }, fault: oneAddress },
    { url: 'resetrequest', body: { email: 'a@example.com,example.net' }, fault: oneAddress },
    {
      url: 'resetrequest',
      body: { email: 'a@example.com\r\nBcc: b@example.com' },
      fault: { email: 'must not contain control characters' },
    },
    {
      url: 'resetrequest',
      body: { email: 'a@example.com\n' },
      fault: { email: 'must not contain control characters' },
    },
    { url: 'resetrequest', body: { email: 'Eve <a@example.com>' }, fault: oneAddress },
    { url: 'confirmcode', body: [], fault: { '': 'must be a JSON object' } },
    { url: 'confirmcode', body: { email, code: 123456 }, fault: { code: 'must be a string of six digits' } },
    { url: 'confirmcode', body: { email, code: '12345' }, fault: sixDigits },
    { url: 'confirmcode', body: { email, code: '1234567' }, fault: sixDigits },
    { url: 'confirmcode', body: { email, code: '12345\n' }, fault: sixDigits },
    { url: 'confirmcode', body: { email, code: '١٢٣٤٥٦' }, fault: sixDigits },
    { url: 'confirmcode', body: { email, code: '１２３４５６' }, fault: sixDigits },
    { url: 'confirmcode', body: { email, code: '123456', token: 5 }, fault: { token: 'must be a string' } },
    {
      url: 'confirmcode',
      body: { email, code: '123456', token: '' },
      fault: { token: 'must not be empty' },
    },
    {
      url: 'confirmcode',
      body: { email, code: '123456', token: 'x'.repeat(257) },
      fault: { token: 'is too long' },
    },
    { url: 'resetpassword', body: [], fault: { '': 'must be a JSON object' } },
    { url: 'resetpassword', body: { email, token: 'x' }, fault: { password: 'is required' } },
    {
      url: 'resetpassword',
      body: { email, token: 'x', password: '\ud800A1!aaaaaaaa' },
      fault: { password: 'must be whole characters' },
    },
  ])('$url $body', async ({ url, body, fault }) => {
    const response = await app.server.inject({ method: 'POST', url: `/login/${url}`, payload: body })
    expect(response.statusCode).toBe(400)
    const [{ path, message }] = response.json().errors
    const { db } = app.database
    expect({ [path]: message }).toEqual(fault)
    expect([await countRows(db, 'password_reset'), await countRows(db, 'mail_outbox')]).toEqual([0, 0])
  })
})

it('a token of the longest form that is accepted is refused like any other', async () => {
  const payload = { email, token: 'x'.repeat(256), password: 'N3w-p4ssw0rd!' }
  const response = await app.server.inject({ method: 'POST', url: '/login/resetpassword', payload })
  expect(response.statusCode).toBe(422)
})
