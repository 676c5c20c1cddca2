import { describe, expect, it } from 'vitest'
import { SETTINGS } from './definitions.ts'
import { describeSettings } from './describe-settings.ts'

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
    expect(find('QUEUE_URL')).toMatchObject({
      isRequired: false,
      default: expect.stringContaining('PostgreSQL'),
    })
    expect(described.filter(({ isRequired }) => isRequired).map(({ name }) => name)).toEqual([
      'JWT_SECRET',
      'DATABASE_URL',
      'MAIL_SECRET',
      'MAIL_URL',
      'MAIL_FROM',
    ])
  })
})
