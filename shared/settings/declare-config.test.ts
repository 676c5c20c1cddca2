import { expect, it } from 'vitest'
import { declareConfig } from './declare-config.ts'

const parseConfig = declareConfig('mailer-worker', {
  port: 'METRICS_PORT',
  queue: { url: 'QUEUE_URL', rate: 'MAIL_RATE' },
})

it('gives the values in the shape of the declaration, with the defaults of the service', () => {
  expect(parseConfig({ DATABASE_URL: 'postgres://db/x', MAIL_RATE: '7' })).toEqual({
    port: 9465,
    queue: { url: 'postgres://db/x', rate: 7 },
  })
})

it('knows the settings that a service reads', () => {
  expect({ ...parseConfig }).toEqual({
    service: 'mailer-worker',
    names: ['METRICS_PORT', 'QUEUE_URL', 'MAIL_RATE'],
  })
})
