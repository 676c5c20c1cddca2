import { describe, expect, it } from 'vitest'
import { AppError } from '../errors/app-error.ts'
import { createLogger } from './logger.ts'

/** Returns what one call of the logger writes. */
function logged(details: object) {
  const lines: string[] = []
  createLogger('test', 'info', { write: (line) => void lines.push(line) }).warn(details, 'it failed')
  return JSON.parse(lines[0] ?? '')
}

/** An error as drivers create it, with the failed command in its properties. */
const refusal = (message: string) =>
  Object.assign(new Error(message), {
    code: 'ER_DATA_TOO_LONG',
    sql: "insert into mail_outbox values ('ada@example.com')",
    command: { name: 'auth', args: ['hunter2'] },
    previousErrors: [Object.assign(new Error('earlier'), { command: { args: ['hunter2'] } })],
  })

describe('an error in the log', () => {
  it('has its message and stack, and no data of the library that threw it', () => {
    const { err } = logged({ err: refusal('refused') })
    expect(err).toEqual({
      type: 'Error',
      message: 'refused',
      errorCode: 'ER_DATA_TOO_LONG',
      stack: expect.stringContaining('logger.test.ts'),
    })
  })

  it('has its causes and aggregated errors, reduced in the same way', () => {
    const gathered = new AggregateError([refusal('first'), 'second'], 'both failed')
    const { err } = logged({ err: new AppError('unavailable', 'away', { cause: gathered }) })
    expect(err).toMatchObject({
      errorCode: 'unavailable',
      cause: {
        type: 'AggregateError',
        errors: [{ message: 'first', errorCode: 'ER_DATA_TOO_LONG' }, 'second'],
      },
    })
    expect(JSON.stringify(err)).not.toMatch(/hunter2|ada@example/)
  })

  it('about an unavailable server has its reason, and no stack', () => {
    const cause = Object.assign(new Error('could not extend file "base/5/1259"'), { code: '53100' })
    const options = { cause, dependency: 'database' }
    expect(
      logged({ err: new AppError('unavailable', 'The database cannot be reached', options) }).err,
    ).toEqual({
      type: 'AppError',
      message: 'The database cannot be reached',
      reason: 'the disk of the database is full',
    })
  })

  it('that is its own cause ends', () => {
    const circle = new Error('round')
    circle.cause = circle
    expect(logged({ err: circle }).err.cause.message).toBe('round')
  })
})

describe('a line of the log', () => {
  it('is one JSON object with the time in UTC, the level and the service, whatever a client sends', () => {
    const lines: string[] = []
    const forged = 'no"}\r\n{"level":"fatal"}'
    createLogger('auth-api', 'info', { write: (line) => void lines.push(line) }).warn(
      { name: forged },
      forged,
    )
    expect(lines.join('').split(/[\r\n]+/)).toHaveLength(2)
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      service: 'auth-api',
      name: forged,
      msg: forged,
    })
  })
})

const SECRETS = [
  'password',
  'token',
  'code',
  'authorization',
  'cookie',
  'secret',
  'variables',
  'connectionString',
]

describe('a secret in the log', () => {
  it.each([
    ...SECRETS.flatMap((name) => [
      { [name]: '123456' },
      { body: { [name]: '123456' } },
      { request: { body: { [name]: '123456' } } },
    ]),
  ])('is redacted: %j', (details) => {
    expect(JSON.stringify(logged(details))).not.toContain('123456')
  })
})
