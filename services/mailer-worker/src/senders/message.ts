import { randomUUID } from 'node:crypto'
import type { SendMailOptions } from 'nodemailer'
import { encode as toBase64, wrap as wrapBase64 } from 'nodemailer/lib/base64'
import MimeNode from 'nodemailer/lib/mime-node'
import { encode as toQuotedPrintable, wrap as wrapQuotedPrintable } from 'nodemailer/lib/qp'
import type { Mail } from './sender.ts'

/** Converts a mail to Nodemailer's message. */
export function toMessage(mail: Mail): SendMailOptions {
  const { messageId, from, to } = mail
  return { messageId, envelope: { from, to: toAddress(to) }, raw: compose(mail) }
}

/** As an object: never parsed, so it cannot become a list. */
const toAddress = (address: string) => ({ name: '', address })

/**
 * The mail as Nodemailer composes it, in one piece. Nodemailer's own way passes each part through several streams, for 40 %
 * of the processor time of a mail; the same headers and encodings are available as functions.
 */
function compose({ messageId, from, to, subject, html, text }: Mail): Buffer {
  // Without a base Nodemailer asks the system for random bytes, for each node; a UUID comes from a pool.
  const root = new MimeNode('multipart/alternative', { baseBoundary: randomUUID() })
  root.setHeader({
    // RFC 3834: prevents automatic replies.
    'Auto-Submitted': 'auto-generated',
    From: from,
    To: toAddress(to),
    Subject: subject,
    'Message-ID': messageId,
  })
  const headers = root.buildHeaders()
  const delimiter = `\r\n--${root.boundary}`
  // An operator's MAIL_ENVELOPE may leave one of them empty.
  const parts = [...composePart('text/plain', text), ...composePart('text/html', html)]
  return Buffer.from(
    `${headers}\r\n${parts.map((part) => `${delimiter}\r\n${part}`).join('')}${delimiter}--\r\n`,
  )
}

/** A part of a multipart mail (RFC 2046 §5.1.1); none for empty content. */
function composePart(type: string, content: string): string[] {
  if (!content) return []
  const encoding = new MimeNode(type, { baseBoundary: 'none' }).setContent(content).getTransferEncoding()
  const headers = [`Content-Type: ${type}; charset=utf-8`, `Content-Transfer-Encoding: ${encoding}`]
  return [`${headers.join('\r\n')}\r\n\r\n${encode(content, encoding)}`]
}

function encode(content: string, encoding: string | false): string {
  if (encoding === 'quoted-printable') return wrapQuotedPrintable(toQuotedPrintable(content))
  if (encoding === 'base64') return wrapBase64(toBase64(content))
  return content
}
