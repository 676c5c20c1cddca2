import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { FastifyRequest } from 'fastify'
import type { RefreshCookies } from '../../http/refresh-cookies.ts'
import type { RefreshForm } from '../../tokens/refresh-token.ts'

/** A refresh token as a request brings it. */
export interface PresentedRefreshToken {
  token: string
  form: RefreshForm
}

/**
 * Returns the refresh token of a request; undefined for a request with an access token, which goes on as it does without refresh
 * tokens. Throws `invalid_input` for two of the forms together, `invalid_token` for none of them, and `foreign_origin`.
 */
export function findPresented(
  request: FastifyRequest,
  body: { refresh_token?: string | undefined } | null | undefined,
  cookies: Pick<RefreshCookies, 'read' | 'requireKnownPage'>,
): PresentedRefreshToken | undefined {
  const token = body?.refresh_token
  const { authorization } = request.headers
  if (Object.hasOwn(request.query ?? {}, 'refresh_token'))
    throw new AppError('invalid_input', 'The refresh token is in the address', {
      reason: 'refresh_token_misplaced',
    })
  if (authorization !== undefined && token !== undefined) throw twoForms('the Authorization header')
  if (authorization !== undefined) return undefined
  const cookie = cookies.read(request)
  if (token !== undefined && cookie !== undefined) throw twoForms('the cookie')
  if (token !== undefined) return { token, form: 'body' }
  if (cookie === undefined)
    throw new AppError('invalid_token', 'The request has no token', { reason: 'token_missing' })
  // A page of another origin cannot send this type before its browser has asked whether it may.
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? ''))
    throw new AppError('invalid_input', 'The request with the cookie has no JSON body', {
      reason: 'json_missing',
    })
  cookies.requireKnownPage(request)
  return { token: cookie, form: 'cookie' }
}

const twoForms = (other: string) =>
  new AppError('invalid_input', `The request has a refresh_token in its body, and ${other} too`, {
    reason: 'two_tokens',
  })
