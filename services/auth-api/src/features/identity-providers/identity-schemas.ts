import { username } from '@latchkey/shared/users/account-names.ts'
import { emailAddress } from '@latchkey/shared/users/email-address.ts'
import { LANGUAGES } from '@latchkey/shared/users/user.ts'
import { z } from 'zod'
import { rememberSchema } from '../../tokens/token-response.ts'
import { sixDigitCodeSchema } from '../one-time-codes/code-schemas.ts'
import { findReturnFault } from './return-address.ts'

const TICKET = '0b0c7f0e-6f0a-4f0e-9d53-6a1f2d3c4b5a.kq3t0bV7mYb8bFZ1Cw2nUj5xTg9rQeLs4hPzVdMi6oA'
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'

const handle = (what: string) =>
  z.string('must be a string').min(1, 'must not be empty').max(128, 'is too long').describe(what)
const ticket = () => handle('The `ticket` of the problem `login-incomplete`.')
const code = () => handle('The `code` with which the browser came back. It lives sixty seconds.')
const verifier = () =>
  z
    .string('must be a string')
    .regex(/^[\w.~-]{43,128}$/, 'must be 43 to 128 letters, digits and -._~')
    .describe('The verifier of `code_challenge` (RFC 7636).')

export const Providers = z
  .object({
    providers: z.array(
      z.object({
        name: z.string().describe('The name in `/login/with/{provider}`.'),
        label: z.string().describe('The text of a button. Escape it.'),
      }),
    ),
  })
  .meta({ id: 'Providers', examples: [{ providers: [{ name: 'google', label: 'Google' }] }] })

export const ProviderName = z.object({
  provider: z
    .string()
    .max(64)
    .meta({ examples: ['google'] }),
})

/** The query of the address that begins a login. */
export const startQuery = (origins: readonly string[], defaultPage: string | undefined) =>
  z.object({
    return_to: z
      .string('must be given once')
      .superRefine((given, context) => {
        const message = findReturnFault(given, origins)
        if (message) context.addIssue({ code: 'custom', message })
      })
      .prefault(defaultPage ?? '')
      .describe('The page that gets `code`, or `error`, and `state`. Default: the account pages.'),
    state: z
      .string('must be given once')
      .max(512, 'is too long')
      .optional()
      .describe('Comes back as it was sent. Compare it: it shows that your page began the login.'),
    code_challenge: z
      .string('must be given once')
      .regex(/^[\w-]{43}$/, 'must be SHA-256 of the verifier, in base64url without padding')
      .describe('BASE64URL(SHA-256(verifier)), as RFC 7636 says for S256.'),
    code_challenge_method: z.literal('S256', 'must be S256').optional(),
  })

export const Exchange = z
  .object({ code: code(), code_verifier: verifier(), remember: rememberSchema() }, 'must be a JSON object')
  .meta({ id: 'Exchange', examples: [{ code: TICKET, code_verifier: VERIFIER }] })

export const AddressConfirmation = z
  .object(
    {
      ticket: ticket(),
      email: emailAddress()
        .optional()
        .describe('The address of the account, where the provider has said none.'),
      language: z.enum(LANGUAGES, `must be one of ${LANGUAGES.join(', ')}`).optional(),
    },
    'must be a JSON object',
  )
  .meta({ id: 'AddressConfirmation', examples: [{ ticket: TICKET }] })

export const Completion = z
  .object(
    {
      ticket: ticket(),
      code: sixDigitCodeSchema().optional(),
      username: username()
        .optional()
        .describe('The username of a new account, where LOGIN_FIELD is `username`.'),
      language: z.enum(LANGUAGES, `must be one of ${LANGUAGES.join(', ')}`).optional(),
      remember: rememberSchema(),
    },
    'must be a JSON object',
  )
  .meta({ id: 'LoginCompletion', examples: [{ ticket: TICKET, code: '042711' }] })

export const NewIdentity = z
  .object(
    { code: code().optional(), code_verifier: verifier().optional(), ticket: ticket().optional() },
    'must be a JSON object',
  )
  .refine(
    ({ code, code_verifier, ticket }) =>
      ticket === undefined
        ? code !== undefined && code_verifier !== undefined
        : code === undefined && code_verifier === undefined,
    'must have either code and code_verifier, or ticket',
  )
  .meta({ id: 'NewIdentity', examples: [{ code: TICKET, code_verifier: VERIFIER }] })

export const IdentityId = z.object({ id: z.guid('must be the id of an identity') })

export const Identities = z
  .object({
    identities: z.array(
      z.object({
        id: z.guid(),
        provider: z.string(),
        label: z.string(),
        email: z.string().nullable().describe('The address that the provider said last.'),
        created_at: z.string().meta({ format: 'date-time' }),
        last_used_at: z.string().nullable().meta({ format: 'date-time' }),
      }),
    ),
    has_password: z.boolean().describe('False where the user can log in by no password.'),
  })
  .meta({ id: 'Identities' })
