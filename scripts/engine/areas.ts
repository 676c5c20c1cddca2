/** A part of what Latchkey needs of a database, and the suites that show it. */
export interface Area {
  need: string
  suites: readonly string[]
  /** The consequence where it does not hold. */
  breaks: string
}

export const AREAS: readonly Area[] = [
  {
    need: 'types, unique indexes that ignore case, triggers, transactions',
    suites: ['statements', 'email-matching'],
    breaks: 'two users share an e-mail or a username, or one is not found',
  },
  {
    need: 'migrations up and down, two at once, killed ones, tables that exist',
    suites: ['migrations'],
    breaks: 'an upgrade fails, or is applied twice',
  },
  {
    need: 'failed transactions: deadlocks, locks, refused logins',
    suites: ['database-errors'],
    breaks: 'requests that could be repeated are answered with 500',
  },
  {
    need: 'the outbox',
    suites: ['outbox-repository', 'mail-outbox'],
    breaks: 'a mail is lost, sent twice, or sent although its request failed',
  },
  {
    need: 'races of codes, factors and tokens: forty guesses, eight uses at once',
    suites: ['races'],
    breaks:
      'a code can be guessed more often than RESET_ATTEMPTS, or used twice; a token works after its session has ended',
  },
]

export const fileOf = (suite: string): string => `services/auth-api/test/${suite}.engine.test.ts`

export const CHECKED_FILES: string[] = AREAS.flatMap(({ suites }) => suites.map(fileOf))
