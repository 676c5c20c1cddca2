import { z } from 'zod'

/** The number of code points, which is how databases count characters. */
export const countCharacters = (text: string): number => [...text].length

/** Unicode's Stream-Safe Text Format (UAX #15 §13) allows as many; no language writes more. */
const MARKS_IN_A_ROW = 30

/**
 * A string of at most `maximum` characters. Its length and its combining marks are checked before anything normalises it:
 * normalisation takes the square of the number of marks in a row, a tenth of a second for a body of 16 KiB.
 */
export const boundedString = (maximum: number) =>
  z
    .string('must be a string')
    .refine((text) => countCharacters(text) <= maximum, {
      error: `must be at most ${maximum} characters`,
      abort: true,
    })
    .refine(
      (text) => (text.match(/\p{M}+/gu) ?? []).every((marks) => countCharacters(marks) <= MARKS_IN_A_ROW),
      { error: `must not contain more than ${MARKS_IN_A_ROW} combining marks in a row`, abort: true },
    )
    .meta({ maxLength: maximum })

/** A `boundedString` that a database can store unchanged: well-formed Unicode without control characters. */
export const boundedText = (maximum: number) =>
  boundedString(maximum).refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), {
    error: 'must not contain control characters',
    abort: true,
  })
