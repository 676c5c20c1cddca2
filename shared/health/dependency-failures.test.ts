import { expect, it } from 'vitest'
import { AppError } from '../errors/app-error.ts'
import { createDependencyFailures } from './dependency-failures.ts'

it.each([
  {
    what: 'an error that names the database',
    error: new AppError('unavailable', 'x', { dependency: 'database' }),
    isCounted: true,
  },
  { what: 'an error that names no dependency', error: new AppError('unavailable', 'x'), isCounted: false },
  { what: 'a bug', error: new TypeError('x'), isCounted: false },
])('$what is counted as a failure of the database: $isCounted', ({ error, isCounted }) => {
  const failures = createDependencyFailures(() => 0)
  expect(failures.reportNamed(error)).toBe(isCounted)
  expect(failures.of('database').count).toBe(isCounted ? 1 : 0)
})
