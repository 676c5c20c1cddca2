import { createTransport } from 'nodemailer'
import PostalMime from 'postal-mime'
import { describe, expect, it } from 'vitest'
import type { Mail } from './sender.ts'
import { toMessage } from './sender.ts'

const mail: Mail = {
  messageId: '<job-1@example.com>',
  from: 'Läden & Co. <no-reply@example.com>',
  to: 'élan@example.com',
  subject: 'Votre code de réinitialisation pour un compte dont le nom est très long',
  html: '<p>012345</p>\n',
  text: '012345\n',
}

describe('toMessage', () => {
  it.each([
    { empty: 'text', rest: { text: '' }, expected: { text: undefined, html: '<p>012345</p>' } },
    { empty: 'html', rest: { html: '' }, expected: { text: '012345', html: undefined } },
  ])('omits an empty $empty', async ({ rest, expected }) => {
    const { text, html } = await PostalMime.parse(await sendOf(toMessage({ ...mail, ...rest })))
    expect({ text: text?.trim(), html: html?.trim() }).toEqual(expected)
  })

  it('lets no value begin another header', async () => {
    const hostile = {
      ...mail,
      subject: 'a\r\nBcc: b@example.com',
      from: 'a\r\nBcc: b <no-reply@example.com>',
    }
    const { headers } = await PostalMime.parse(await sendOf(toMessage(hostile)))
    expect(headers.map(({ key }) => key)).not.toContain('bcc')
  })
})

/** The mail as it is sent. */
async function sendOf(message: object): Promise<string> {
  const { message: sent } = await createTransport({ streamTransport: true, buffer: true }).sendMail(message)
  return String(sent)
}
