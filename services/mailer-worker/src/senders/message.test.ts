import { createTransport } from 'nodemailer'
import PostalMime from 'postal-mime'
import { describe, expect, it } from 'vitest'
import { toMessage } from './message.ts'
import type { Mail } from './sender.ts'

const mail: Mail = {
  messageId: '<job-1@example.com>',
  from: 'Läden & Co. <no-reply@example.com>',
  to: 'élan@example.com',
  subject: 'Votre code de réinitialisation pour un compte dont le nom est très long',
  html: '<p>012345</p>\n',
  text: '012345\n',
}

const CONTENTS = [
  { what: 'short ASCII', text: 'one\r\ntwo\n', html: '<p>one</p>' },
  { what: 'lines that begin with a dot or a dash', text: '.\n..\n--\n-- signature\n', html: '.<p>.</p>' },
  { what: 'lines that are too long', text: 'x'.repeat(2_000), html: `<p>${'word = '.repeat(200)} \n</p>\t` },
  { what: 'accents', text: 'réinitialisé à 9 h\n', html: `<p>${'é=\u00a0'.repeat(100)}</p>` },
  { what: 'other scripts', text: 'コードは012345です', html: `<p>${'код 😀'.repeat(500)}</p>` },
  { what: 'more than Nodemailer encodes at once', text: 'é \r\n'.repeat(20_000), html: '漢'.repeat(5_000) },
]

describe('toMessage', () => {
  it.each(CONTENTS)('composes $what as Nodemailer does', async ({ text, html }) => {
    const changed = { ...mail, text, html }
    expect(await sendOf(toMessage(changed))).toBe(await sendOf(asOptions(changed)))
  })

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

  it('uses another boundary for each mail', async () => {
    const [first, second] = [toMessage(mail), toMessage(mail)].map(({ raw }) => boundaryOf(String(raw)))
    expect(first).not.toBe(second)
  })
})

/** What Nodemailer is given to compose the mail itself. */
function asOptions({ to, ...rest }: Mail) {
  return { ...rest, to: { name: '', address: to }, headers: { 'Auto-Submitted': 'auto-generated' } }
}

/** What is sent, without what differs between two mails of the same content. */
async function sendOf(message: object): Promise<string> {
  const { message: sent } = await createTransport({ streamTransport: true, buffer: true }).sendMail(message)
  const text = String(sent)
  return text.replaceAll(boundaryOf(text), 'boundary').replace(/^Date: .*$/m, 'Date: now')
}

const boundaryOf = (text: string): string => /boundary="([^"]+)"/.exec(text)?.[1] ?? 'none'
