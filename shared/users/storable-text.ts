import { z } from 'zod'

/** How many characters a reader sees, as both databases count them: an emoji is one. */
export const countCharacters = (text: string): number => [...text].length

/** A string that a database column can hold as it is: whole characters, none of them a control character. */
export const storableText = () =>
  z
    .string('must be a string')
    .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), 'must not contain control characters')

/** `storableText` of at most `maximum` characters. */
export const boundedText = (maximum: number) =>
  storableText().refine((text) => countCharacters(text) <= maximum, `must be at most ${maximum} characters`)
