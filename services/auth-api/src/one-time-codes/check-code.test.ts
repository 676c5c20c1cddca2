import { expect, it } from 'vitest'
import type { z } from 'zod'
import { requestToken, sixDigitCode } from './check-code.ts'

it.each<{ schema: z.ZodType; given: unknown; fault: string | undefined }>([
  { schema: sixDigitCode(), given: '012345', fault: undefined },
  { schema: sixDigitCode(), given: 123456, fault: 'must be a string of six digits' },
  { schema: sixDigitCode(), given: '1234567', fault: 'must be six digits' },
  { schema: sixDigitCode(), given: '12345', fault: 'must be six digits' },
  { schema: requestToken(), given: 'x'.repeat(256), fault: undefined },
  { schema: requestToken(), given: 'x'.repeat(257), fault: 'is too long' },
  { schema: requestToken(), given: '', fault: 'must not be empty' },
  { schema: requestToken(), given: 5, fault: 'must be a string' },
])('$given: $fault', ({ schema, given, fault }) => {
  expect(schema.safeParse(given).error?.issues[0]?.message).toBe(fault)
})
