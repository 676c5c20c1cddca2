import { describe, expect, it } from 'vitest'
import { SETTINGS } from './definitions.ts'
import { describeSettings } from './describe-settings.ts'
import type { Setting } from './setting.ts'

const described = describeSettings([{ service: 'auth-api', names: ['PORT'] }])

describe('describeSettings', () => {
  it('describes every setting once, in one sentence, with an example or as a secret', () => {
    expect(described.map(({ name }) => name)).toEqual(Object.keys(SETTINGS))
    for (const { name, description, example, isSecret } of described) {
      expect(description, name).toMatch(/^[A-Z].*\.$/)
      expect(isSecret ? !example : example, name).toBeTruthy()
    }
  })

  it('tells required settings, defaults, units and readers', () => {
    const find = (name: string) => described.find((each) => each.name === name)
    expect(find('PORT')).toMatchObject({ default: '8080', isRequired: false, services: ['auth-api'] })
    expect(find('TOKEN_LIFETIME')).toMatchObject({ default: '3600', unit: 'seconds', services: [] })
    expect(find('JWT_SECRET')).toMatchObject({ default: undefined, unit: 'base64 of at least 64 bytes' })
    expect(find('BOARD_TOKEN')).toMatchObject({ default: undefined, unit: 'at least 24 characters' })
    expect(described.filter(({ isRequired }) => isRequired).map(({ name }) => name)).toEqual([
      'JWT_SECRET',
      'DATABASE_URL',
      'MAIL_SECRET',
      'MAIL_URL',
      'MAIL_FROM',
    ])
  })

  it('says in words what a default depends on', () => {
    const derived = Object.entries<Setting<unknown>>(SETTINGS).filter(
      ([, each]) => typeof each.default === 'object',
    )
    const descriptions = derived.map(([name]) => described.find((each) => each.name === name))
    expect(descriptions.map((each) => [each?.name, each?.default, each?.isRequired])).toEqual([
      ['METRICS_PORT', '9464; mailer-worker: 9465', false],
      ['API_SERVER', '`http://localhost:<PORT>` in dev and test; elsewhere **required**', false],
      ['HASH_CONCURRENCY', 'the number of cores', false],
      ['QUEUE_URL', '`DATABASE_URL` where that is PostgreSQL', false],
    ])
  })
})
