import { z } from 'zod'

/** The number of code points, which is how databases count characters. */
export const countCharacters = (text: string): number => [...text].length

/** A string that a database can store unchanged: well-formed Unicode without control characters. */
export const storableText = () =>
  z
    .string('must be a string')
    .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), 'must not contain control characters')

/** `storableText` of at most `maximum` characters. */
export const boundedText = (maximum: number) =>
  storableText()
    .refine((text) => countCharacters(text) <= maximum, `must be at most ${maximum} characters`)
    .meta({ maxLength: maximum })
