import type { FastifyReply } from 'fastify'
import type { z } from 'zod'
import type { IssuedLogin } from '../tokens/issue-token.ts'
import type { LoginResponse } from '../tokens/token-response.ts'
import type { RefreshCookies } from './refresh-cookies.ts'

/** Returns the body of the answer to a login; sets the cookie where the refresh token is kept in it. */
export type AnswerLogin = (reply: FastifyReply, issued: IssuedLogin) => z.output<typeof LoginResponse>

/** Creates the function that answers a login. */
export const createAnswerLogin =
  (cookies: Pick<RefreshCookies, 'set'>): AnswerLogin =>
  (reply, { token, data, refresh }) => {
    if (!refresh) return { token, data }
    if (refresh.form === 'cookie') cookies.set(reply, refresh.token, refresh.expiresAt)
    return {
      token,
      data,
      ...(refresh.form === 'body' ? { refresh_token: refresh.token } : {}),
      refresh_expires_at: refresh.expiresAt.toISOString(),
    }
  }
