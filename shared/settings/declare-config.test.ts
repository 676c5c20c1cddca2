import { describe, expect, it } from 'vitest'
import { allOrNone, declareConfig, derived } from './declare-config.ts'
import { collectFaults } from './settings-error.ts'

const parseConfig = declareConfig('mailer-worker', {
  port: 'METRICS_PORT',
  queue: { url: 'QUEUE_URL', rate: 'MAIL_RATE' },
  mail: {
    shouted: derived('MAIL_FROM', (from) => (from.includes('@') ? from.toUpperCase() : undefined), {
      message: 'must be one address',
    }),
    dkim: allOrNone({ domainName: 'DKIM_DOMAIN', keySelector: 'DKIM_SELECTOR' }),
  },
})

const GOOD = { DATABASE_URL: 'postgres://db/x', MAIL_FROM: 'a@example.com' }

describe('declareConfig', () => {
  it('gives the values in the shape of the declaration', () => {
    expect(parseConfig({ ...GOOD, MAIL_RATE: '7', DKIM_DOMAIN: 'example.com', DKIM_SELECTOR: 'x' })).toEqual({
      port: 9465,
      queue: { url: 'postgres://db/x', rate: 7 },
      mail: { shouted: 'A@EXAMPLE.COM', dkim: { domainName: 'example.com', keySelector: 'x' } },
    })
  })

  it('knows the settings that a service reads', () => {
    expect({ ...parseConfig }).toEqual({
      service: 'mailer-worker',
      names: ['METRICS_PORT', 'QUEUE_URL', 'MAIL_RATE', 'MAIL_FROM', 'DKIM_DOMAIN', 'DKIM_SELECTOR'],
    })
  })

  it('reports the faults of settings and of what is derived from them in one list', () => {
    const faults = collectFaults(() =>
      parseConfig({
        DATABASE_URL: 'mysql://db/x',
        MAIL_RATE: '0',
        MAIL_FROM: 'x',
        DKIM_DOMAIN: 'example.com',
      }),
    )
    expect(faults).toEqual([
      'QUEUE_URL is missing, and only PostgreSQL can keep the queue in DATABASE_URL. For example: QUEUE_URL=redis://queue.example.com:6379',
      'MAIL_RATE must be a whole number of mails per second, at least 1. For example: MAIL_RATE=50',
      'MAIL_FROM must be one address. For example: MAIL_FROM=Latchkey <no-reply@example.com>',
      'DKIM_SELECTOR is missing. Set all of DKIM_DOMAIN, DKIM_SELECTOR or none of them.',
    ])
  })

  it('derives nothing from a setting that is missing', () => {
    expect(collectFaults(() => parseConfig({ DATABASE_URL: 'postgres://db/x' }))).toEqual([
      expect.stringMatching(/^MAIL_FROM is missing\./),
    ])
  })
})
